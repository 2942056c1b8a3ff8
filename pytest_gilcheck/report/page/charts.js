// The charts of each kind of check. Each function takes a record and gives figures, none if the record has nothing to draw.

const MOST = 1000; // marks of one series
const series = (index) => `s${index % 6}`;
const shapes = (index) => SHAPES[index % 6];
const dashes = (index) => DASHES[index % 6];
const times = (value) => `${value.toFixed(2)}x`;

const CHARTS = {}; // by check: a file of its name in charts/ adds the function that draws its record
