#include "crunch.h"

MODULE(missing)
