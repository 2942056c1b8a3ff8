// Reads values from records, which may contain anything: each function returns the type in its name, or an empty value. A missing value
// gives no chart and no error.

const finite = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const number = (value) => (finite(value) !== null && (value === 0 || (Math.abs(value) > 1e-12 && Math.abs(value) < 1e12)) ? value : null); // that an axis can hold
const positive = (value) => (number(value) !== null && value > 0 ? value : null);
const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
const entries = (value) => Object.entries(object(value));
const known = (values) => values.filter((value) => value !== null);

function words(value) {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function clipped(value, width) {
  const characters = Array.from(words(value).replace(/\s+/g, " "));
  return characters.length > width ? `${characters.slice(0, width - 1).join("")}…` : characters.join("");
}

function digits(value, count = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(count - 1);
  return Number(value.toPrecision(Math.max(count, Math.ceil(Math.log10(size + 1))))).toLocaleString("en", { maximumFractionDigits: 7 });
}

function seconds(value) {
  for (const [unit, scale] of [["s", 1], ["ms", 1e3], ["us", 1e6]]) {
    if (Math.abs(value) * scale >= 0.9995) return `${digits(value * scale)} ${unit}`;
  }
  return `${digits(value * 1e6, 2)} us`;
}

function figure(value, unit) {
  if (value === null || value === undefined || value === "") return "–";
  if (finite(value) === null) return words(value);
  if (unit === "s") return seconds(value);
  if (unit === "times") return Math.abs(value) < 1e6 ? `${value.toFixed(2)}x` : `${digits(value)}x`;
  if (unit === "share") return `${(value * 100).toFixed(0)}%`;
  if (unit) return `${digits(value)} ${unit}`;
  return Number.isInteger(value) ? String(value) : digits(value, 4);
}

const median = (values) => {
  const ordered = [...values].sort((a, b) => a - b);
  return (ordered[Math.floor((ordered.length - 1) / 2)] + ordered[Math.floor(ordered.length / 2)]) / 2;
};
