"""Code that asks for what a thread is, which the search takes a whole file for: so this is a file of its own."""

import threading


def finish(state):
    state.done = True


def asks_whether_it_is_alive(state):
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    if not started.is_alive():
        assert state.done
    started.join()


def asks_how_many_there_are(state):
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    state.seen.append(len(threading.enumerate()))
    started.join()


def asks_for_its_number(state):
    started = threading.Thread(target=numbers, args=(state,))
    started.start()
    started.join()


def numbers(state):
    state.seen.append(threading.get_ident() > 0)
