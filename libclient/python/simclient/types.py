# SPDX-License-Identifier: Apache-2.0
"""Message types: the field tables of the library, and from them classes whose attributes are the fields."""
import ctypes as c
import errno

from . import _msg
from ._lib import TYPE, SimError, lib
from ._fields import BOUNDED, CODES, MESSAGE, STRING, VARIABLE, member


class Field:
    """One field of a type: a row of the library's field table."""
    __slots__ = ("name", "type", "unit", "comment", "offset", "count", "elem_size", "string_max", "kind", "array",
                 "elem_align", "code", "owner")

    def __init__(self, row, owner):
        self.name, self.unit, self.comment = (text.decode() for text in (row.name, row.unit, row.comment))
        self.offset, self.count, self.elem_size, self.string_max = row.offset, row.count, row.elem_size, row.string_max
        self.kind, self.array, self.elem_align = row.kind, row.array, row.elem_align
        self.code = CODES.get(row.kind)
        self.type = Type._of(row.type) if row.kind == MESSAGE else None
        self.owner = owner

    @property
    def is_span(self):
        return self.array in (BOUNDED, VARIABLE)

    def __str__(self):
        return "%s.%s" % (self.owner, self.name)


class Type:
    """A message type. Make one by Type.builtin(), Type.from_msg() or client.channel_type().

    name, hash, fixed_size; fields: by name; constants: by name.
    """
    _by_hash = {}

    def __init__(self, pointer):
        table = pointer.contents
        if table.abi != 1:
            raise SimError(errno.EINVAL, "the type's table has version %d, and this package knows 1" % table.abi)
        lib.sim_type_ref(pointer)  # for as long as this program runs: its classes refer to it
        self.pointer, self.name, self.hash = pointer, table.name.decode(), table.hash
        self.comment, self.fixed_size, self.align = table.comment.decode(), table.fixed_size, table.align
        self.fields = {f.name: f for f in (Field(table.fields[i], self.name) for i in range(table.n_fields))}
        self.constants = {k.name.decode(): _constant(k) for k in table.constants[:table.n_constants]}
        self.raw_constants = [{"name": k.name.decode(), "type": _msg.KINDS[k.kind - 1], "value": k.value.decode()}
                              for k in table.constants[:table.n_constants]]
        self.members = {name: member(f) for name, f in self.fields.items()}
        self._classes = {}

    def __repr__(self):
        return "<Type %s>" % self.name

    @classmethod
    def _of(cls, pointer):
        key = pointer.contents.name, pointer.contents.hash
        found = cls._by_hash.get(key)
        if found is None:
            found = cls._by_hash.setdefault(key, cls(pointer))
        return found

    @classmethod
    def builtin(cls, name):
        """A type that comes with simd: Type.builtin("sim/Imu")."""
        pointer = lib.sim_type_builtin(name.encode())
        if not pointer:
            raise SimError(errno.ENOENT, "no type '%s' comes with simd: for one of your own use Type.from_msg()" % name)
        return cls._of(pointer)

    @classmethod
    def from_json(cls, text):
        """A type from its JSON, as `simctl type --json` prints it."""
        data, out = text.encode(), TYPE()
        lib.sim_type_from_json(data, len(data), c.byref(out))
        return cls._take(out)

    @classmethod
    def from_msg(cls, name, text, others=()):
        """A type from the text of its .msg file. name: "package/Name"; others: the types that its fields name, beside
        those of simd, as Type objects."""
        known = {t.name: t for t in others}
        return cls.from_json(_msg.to_json(name, text, lambda n: known.get(n) or cls.builtin(n)))

    @classmethod
    def _take(cls, pointer):
        found = cls._of(pointer)
        lib.sim_type_unref(pointer)
        return found

    def size(self, /, **counts):
        """Bytes of a message with so many elements in those arrays, and so many bytes in those strings."""
        total = self.fixed_size
        for name, count in counts.items():
            field = self.field(name)
            size = count * (1 if field.kind == STRING and not field.is_span else field.elem_size)
            total += size + (63 if size >= 1024 else 7) if field.is_span else size + 1
        return total

    def field(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError("%s has no field '%s'; it has %s" % (self.name, name, ", ".join(self.fields))) from None

    def subclass(self, base):
        """The class of this type's messages below `base`: made once, its members are the fields."""
        made = self._classes.get(base)
        if made is None:
            body = {n: m for n, m in self.members.items() if not hasattr(base, n)}
            body.update(__slots__=(), type=self)
            body.update((n, v) for n, v in self.constants.items() if n not in body)
            made = self._classes[base] = type(self.name.split("/")[1], (base,), body)
        return made


def _constant(row):
    text = row.value.decode()
    if row.kind == STRING:
        return text
    if row.kind == 1:
        return text == "true"
    return float(text) if row.kind in (10, 11) else int(text)


def as_type(given):
    """The Type that a caller means: one, or the name of one that comes with simd."""
    if isinstance(given, Type):
        return given
    if isinstance(given, str):
        return Type.builtin(given)
    raise TypeError("a type is a simclient.Type or a name such as 'sim/Imu', not %r" % (given,))
