"""A program in a file of its own: what other code of its file says of names would count for it."""


class Shop:
    def __init__(self):
        self.stock, self.busy = {"a": 1}, True

    def sell(self):
        for name in ("a", "b"):
            self.sell_one(name)

    def sell_one(self, name):
        if self.busy:
            self.stock[name] = self.stock.get(name, 0) - 1


def sell(shop):
    shop.sell()
