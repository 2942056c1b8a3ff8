"""Does it scale? sampling -> statistics -> ceiling -> judgement -> diagnosis, put together by `check.scaling`."""
