// The schedule of a class that is wrong under threads: drawn as that of a fuzz check.

CHARTS.linearizable = (record) => CHARTS.fuzz(record);
