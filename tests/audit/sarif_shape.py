"""The part of SARIF 2.1.0 (OASIS, section 3) that the audit writes, as a JSON schema that allows nothing else."""


def _object(required, **properties):
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _object("text", text=_TEXT, markdown=_TEXT)
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RULE = _object(
    "id",
    id=_TEXT,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_object("", level=_LEVEL),
    properties=_object("", tags={"type": "array", "items": _TEXT}),
)
_LOCATION = _object(
    "",
    physicalLocation=_object(
        "artifactLocation",
        artifactLocation=_object("uri", uri={"type": "string", "pattern": '^[^ \\\\<>"]+$'}),
        region=_object("startLine", startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations={"type": "array", "items": _object("", fullyQualifiedName=_TEXT)},
)
_RESULT = _object(
    "message ruleId",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    level=_LEVEL,
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION, "minItems": 1},
    partialFingerprints={"type": "object", "additionalProperties": _TEXT},
    suppressions={
        "type": "array",
        "items": _object("kind", kind={"enum": ["inSource", "external"]}, status={"enum": ["accepted"]}, justification=_TEXT),
    },
    properties={"type": "object"},
)
_RUN = _object(
    "tool results",
    tool=_object("driver", driver=_object("name", name=_TEXT, semanticVersion=_TEXT, rules={"type": "array", "items": _RULE})),
    results={"type": "array", "items": _RESULT},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations={
        "type": "array",
        "items": _object("executionSuccessful", executionSuccessful={"type": "boolean"}, exitCode={"type": "integer"}),
    },
)
SCHEMA = _object(
    "version runs", **{"$schema": _TEXT}, version={"const": "2.1.0"}, runs={"type": "array", "items": _RUN, "minItems": 1}
) | {"$schema": "http://json-schema.org/draft-07/schema#"}
