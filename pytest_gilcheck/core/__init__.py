"""The ground floor: facts and mechanisms that every question stands on. Knows nothing of pytest, nor of any wing."""
