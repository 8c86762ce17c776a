# SPDX-License-Identifier: Apache-2.0
"""The fields of a message as attributes: each access goes through Memory.view, so none reaches a released slot.

What a peer wrote is not trusted: a span is read once, and checked against the body, the bound and the alignment.
"""
import array
import struct
import sys
from collections.abc import Mapping, Sequence

STRING, MESSAGE = 14, 15
# the codes of struct, array and memoryview, by enum sim_kind
CODES = {1: "?", 2: "b", 3: "B", 4: "h", 5: "H", 6: "i", 7: "I", 8: "q", 9: "Q", 10: "f", 11: "d", 12: "q", 13: "q"}
NONE, FIXED, BOUNDED, VARIABLE = range(4)
SPAN = struct.Struct("<II")
# formats of other buffers, by the code that has the same values: int64 is "l" in numpy, "q" here
SAME = {"l": "q", "L": "Q", "c": "B"} if struct.calcsize("l") == 8 else {"l": "i", "L": "I", "c": "B"}


def _numpy():
    """numpy, if the program or this machine has it."""
    try:
        import numpy
    except ImportError:
        raise ImportError("numpy is not installed (Debian: python3-numpy); .memoryview() needs nothing") from None
    return numpy


class Record:
    """A message, or one that lies in another: its fields are attributes, and items by name."""
    __slots__ = ("_memory", "_at")
    type = None

    def __init__(self, memory, at):
        self._memory, self._at = memory, at

    def __getitem__(self, name):
        self.type.field(name)
        return self.type.members[name].__get__(self)

    def __setitem__(self, name, value):
        self.type.field(name)
        self.type.members[name].__set__(self, value)

    def assign(self, values=(), /, **fields):
        """Sets several fields, from a mapping, from keywords, or from a message of the same type."""
        for name, value in dict(_items(self.type, values), **fields).items():
            self[name] = value

    def alloc(self, name, count):
        """Makes room for `count` elements of an array, and returns it, to be filled in place: numbers are undefined."""
        field = self.type.field(name)
        if not field.is_span:
            raise TypeError("%s is no array of variable length" % field)
        return _allocate(self._memory, self._at + field.offset, field, count)

    def to_dict(self):
        """A copy as plain values: dicts, lists, numbers, strings."""
        return {name: _plain(self[name]) for name in self.type.fields}

    def __repr__(self):
        try:
            return "<%s %s>" % (self.type.name, self.to_dict())
        except OSError:
            return "<%s, released>" % self.type.name


def _items(type_, values):
    if isinstance(values, Record):
        if values.type is not type_:
            raise TypeError("a %s cannot be assigned to a %s" % (values.type.name, type_.name))
        return {name: values[name] for name in type_.fields}
    if isinstance(values, (Mapping, tuple)):
        return values
    raise TypeError("a %s is assigned from a mapping or a message, not from %s" % (type_.name, type(values).__name__))


def _plain(value):
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (Array, List)):
        return [_plain(v) for v in value]
    return value


# ---- memory ----

def _append(memory, at, size, align, field, count):
    """Room of `size` bytes at the end of a message that is being built, for the span at `at`."""
    if field.array == BOUNDED and count > field.count:
        raise ValueError("%s holds at most %d elements, not %d" % (field, field.count, count))
    start = (memory.used + align - 1) & -align
    if start + size > memory.size or not memory.writable:
        raise _no_room(memory, field, start + size)
    memory.view[memory.used:start] = bytes(start - memory.used)
    memory.used = start + size
    SPAN.pack_into(memory.view, at, start if count else 0, count)
    return start


def _no_room(memory, field, size):
    if not memory.writable:
        return TypeError("%s: a received message is read-only; message.copy() is not" % field)
    return ValueError("%s does not fit: the message was loaned with %d bytes, and needs %d; loan(%s=n)" % (
        field, memory.size, size, field.name))


def _allocate(memory, at, field, count):
    count = int(count)
    if count < 0:
        raise ValueError("%s cannot have %d elements" % (field, count))
    size = count * field.elem_size
    try:
        start = _append(memory, at, size, 64 if size >= 1024 else max(8, field.elem_align), field, count)
        if not field.code:
            memory.view[start:start + size] = bytes(size)
    except (TypeError, ValueError):
        raise _error(memory) from None
    return _array(memory, start, count, field)


def _error(memory):  # pack_into() into a released memoryview is a TypeError
    """Within an except clause: what went wrong, if it was not that the message has been released."""
    try:
        memory.view[0:0]
    except ValueError:
        return memory.gone()
    return sys.exc_info()[1]


def _span(memory, at, elem_size, align, bound):
    try:
        start, count = SPAN.unpack_from(memory.view, at)
    except ValueError:
        raise memory.gone() from None
    if not count or (bound and count > bound) or start % align or start + count * elem_size > memory.used:
        return 0, 0
    return start, count


def _array(memory, start, count, field):
    return (Array if field.code else List)(memory, start, count, field)


# ---- arrays ----

class Array(Sequence):
    """An array of numbers in a message. An element is read or written in place; a slice is a list.

    memoryview() and numpy() are in place too, without a copy. A slot that such an array refers to is kept from its
    publisher until the array has gone.
    """
    __slots__ = ("_memory", "_start", "_count", "_field")

    def __init__(self, memory, start, count, field):
        self._memory, self._start, self._count, self._field = memory, start, count, field

    @property
    def format(self):
        """As of memoryview: "f" is float32."""
        return self._field.code

    @property
    def shape(self):
        return (self._count,)

    def __len__(self):
        return self._count

    def memoryview(self):
        try:
            end = self._start + self._count * self._field.elem_size
            return self._memory.view[self._start:end].cast(self._field.code)
        except ValueError:
            raise self._memory.gone() from None

    def numpy(self):
        return _numpy().asarray(self.memoryview())

    def __array__(self, dtype=None, copy=None):
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=bool(copy))

    def __getitem__(self, index):
        with self.memoryview() as view:
            return view[index].tolist() if isinstance(index, slice) else view[index]

    def __iter__(self):
        return iter(self.tolist())

    def __setitem__(self, index, value):
        with self.memoryview() as view:
            try:
                if isinstance(index, slice):
                    value = _values(value, self._field, len(view[index]))
                view[index] = value
            except TypeError as e:
                raise TypeError("%s: %s" % (self._field, e)) from None
            except (ValueError, OverflowError) as e:
                raise ValueError("%s: %s" % (self._field, e)) from None

    def tolist(self):
        with self.memoryview() as view:
            return view.tolist()

    def tobytes(self):
        with self.memoryview() as view:
            return view.tobytes()

    def __eq__(self, other):
        return self.tolist() == (other.tolist() if hasattr(other, "tolist") else list(other))

    def __repr__(self):
        return "<%s[%d]>" % (self._field, self._count)


def _values(data, field, count=None):
    """`data` as a memoryview of the field's own format and one dimension: TypeError, ValueError if it does not fit."""
    if isinstance(data, Array):
        data = data.memoryview()
    try:
        view = memoryview(data)
    except TypeError:
        if isinstance(data, str) or not hasattr(data, "__iter__"):
            raise TypeError("an array of numbers is needed, not %s" % type(data).__name__) from None
        view = memoryview(array.array("B" if field.code == "?" else field.code, data)).cast("B").cast(field.code)
    code = view.format[1:] if view.format[:1] in "@=<" else view.format
    if SAME.get(code, code) != field.code:
        raise TypeError("elements of the format '%s' are needed, not of '%s'" % (field.code, view.format))
    if not view.c_contiguous:
        raise ValueError("the data is not contiguous: copy it first")
    found = view.nbytes // field.elem_size
    if count is not None and found != count:
        raise ValueError("%d elements are needed, not %d" % (count, found))
    return view.cast("B").cast(field.code) if found else memoryview(b"").cast(field.code)


class List(Sequence):
    """An array of messages or strings."""
    __slots__ = ("_memory", "_start", "_count", "_field")

    def __init__(self, memory, start, count, field):
        self._memory, self._start, self._count, self._field = memory, start, count, field

    def __len__(self):
        return self._count

    def _place(self, index):
        index = index + self._count if index < 0 else index
        if not 0 <= index < self._count:
            raise IndexError("%s has %d elements" % (self._field, self._count))
        return self._start + index * self._field.elem_size

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        at = self._place(index)
        if self._field.kind == STRING:
            return _get_string(self._memory, at, self._field)
        return self._field.type.subclass(Record)(self._memory, at)

    def __setitem__(self, index, value):
        at = self._place(index)
        if self._field.kind == STRING:
            _set_string(self._memory, at, self._field, value)
        else:
            self._field.type.subclass(Record)(self._memory, at).assign(value)

    def __repr__(self):
        return "<%s[%d]>" % (self._field, self._count)


# ---- strings ----

def _get_string(memory, at, field):
    start, count = _span(memory, at, 1, 1, field.string_max)
    try:
        if start + count >= memory.used or memory.view[start + count]:
            return ""
        return bytes(memory.view[start:start + count]).decode(errors="replace")
    except ValueError:
        raise memory.gone() from None


def _set_string(memory, at, field, value):
    if not isinstance(value, str):
        raise TypeError("%s: a str is needed, not %s" % (field, type(value).__name__))
    data = value.encode()
    if field.string_max and len(data) > field.string_max:
        raise ValueError("%s holds at most %d bytes, not %d" % (field, field.string_max, len(data)))
    try:
        start = memory.used
        if start + len(data) + 1 > memory.size or not memory.writable:
            raise _no_room(memory, field, start + len(data) + 1)
        memory.view[start:start + len(data) + 1] = data + b"\0"
        memory.used = start + len(data) + 1
        SPAN.pack_into(memory.view, at, start, len(data))
    except (TypeError, ValueError):
        raise _error(memory) from None


# ---- members of the classes ----

def member(field):
    """The property by which objects of the type read and write this field."""
    if field.array != NONE:
        return _array_member(field)
    if field.kind == STRING:
        return property(lambda self: _get_string(self._memory, self._at + field.offset, field),
                        lambda self, value: _set_string(self._memory, self._at + field.offset, field, value))
    return _record_member(field) if field.kind == MESSAGE else _number_member(field)


def _number_member(field):
    packer, offset = struct.Struct("<" + field.code), field.offset
    unpack, pack = packer.unpack_from, packer.pack_into

    def get(self):
        memory = self._memory
        try:
            return unpack(memory.view, self._at + offset)[0]
        except ValueError:
            raise memory.gone() from None

    def put(self, value):
        memory = self._memory
        try:
            pack(memory.view, self._at + offset, value)
        except struct.error as e:
            raise ValueError("%s: %s" % (field, e)) from None
        except (TypeError, ValueError):
            if not memory.writable:
                raise _no_room(memory, field, 0) from None
            raise _error(memory) from None
    return property(get, put)


def _record_member(field):
    cls = []

    def get(self):
        if not cls:
            cls.append(field.type.subclass(Record))
        return cls[0](self._memory, self._at + field.offset)
    return property(get, lambda self, value: get(self).assign(value))


def _array_member(field):
    align = 1 if field.elem_size == 1 else field.elem_align

    def get(self):
        memory, at = self._memory, self._at + field.offset
        if field.array == FIXED:
            return _array(memory, at, field.count, field)
        start, count = _span(memory, at, field.elem_size, align, field.count)
        return _array(memory, start, count, field)

    def put(self, value):
        if field.code:
            try:
                value = _values(value, field, field.count if field.array == FIXED else None)
            except TypeError as e:
                raise TypeError("%s: %s" % (field, e)) from None
            except (ValueError, OverflowError) as e:
                raise ValueError("%s: %s" % (field, e)) from None
        elif field.array == FIXED and len(value) != field.count:
            raise ValueError("%s: %d elements are needed, not %d" % (field, field.count, len(value)))
        found = get(self) if field.array == FIXED else self.alloc(field.name, len(value))
        if field.code:
            found[:] = value
        else:
            for i, one in enumerate(value):
                found[i] = one
    return property(get, put)
