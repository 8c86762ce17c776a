# SPDX-License-Identifier: Apache-2.0
# What others make of the definitions in schemas/ros: md5 sums by Debian's genmsg, type hashes by REP 2011 as it is written, with no code
# of ours, and how many messages a package has.   ros_sums.py md5|rihs|readme
# md5 and rihs read lines "package/kind/Name sum" from stdin, "-" for a message that ROS 1 cannot have, and compare all.
import hashlib
import json
import os
import re
import sys

ROOT = 'schemas/ros'
PRIMITIVES = {'int8': 2, 'uint8': 3, 'char': 3, 'int16': 4, 'uint16': 5, 'int32': 6, 'uint32': 7, 'int64': 8, 'uint64': 9, 'float32': 10,
              'float64': 11, 'bool': 15, 'byte': 16, 'string': 17, 'wstring': 18}
BOUNDED = {17: 21, 18: 22}
ARRAY, BOUNDED_SEQUENCE, UNBOUNDED_SEQUENCE = 48, 96, 144
TIMES = {'builtin_interfaces/Time': 'time', 'builtin_interfaces/Duration': 'duration'}
FIELD = re.compile(r'([A-Za-z][\w/]*?)(?:<=(\d+))?(\[(<=)?(\d*)\])?\s+([A-Za-z]\w*)(\s*=.*)?$')


def files(top):
    for package in sorted(os.listdir(top)):
        for kind in ('msg', 'srv', 'action'):
            folder = os.path.join(top, package, kind)
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) and package != 'ros1' else ():
                with open(os.path.join(folder, name)) as f:
                    yield package, kind, name[:-len('.msg')], f.read()


def tree(ros1):
    all = {(p, n): (k, text) for p, k, n, text in files(ROOT)}
    if ros1:
        all.update({(p, n): (k, text) for p, k, n, text in files(ROOT + '/ros1')})
    return all


def lines(text):
    for line in text.split('\n'):
        if line and not line.startswith('#'):
            yield FIELD.match(line).groups()


# ---- REP 2011: the JSON of a type's description, sorted and spaced as it says, and its SHA-256 ----

def field(name, id, capacity=0, string_capacity=0, nested=''):
    return {'name': name, 'type': {'type_id': id, 'capacity': capacity, 'string_capacity': string_capacity, 'nested_type_name': nested}}


def description(all, key):
    kind, text = all[key]
    fields, nests = [], []
    for base, string_max, array, bound, count, name, constant in lines(text):
        if constant:
            continue
        nested = '' if base in PRIMITIVES else base.replace('/', '/msg/')
        id = 1 if nested else BOUNDED[PRIMITIVES[base]] if string_max else PRIMITIVES[base]
        if array:
            id += BOUNDED_SEQUENCE if bound else ARRAY if count else UNBOUNDED_SEQUENCE
        fields.append(field(name, id, int(count or 0), int(string_max or 0), nested))
        if nested:
            nests.append(tuple(base.split('/')))
    if not fields:
        fields = [field('structure_needs_at_least_one_member', 3)]
    return {'type_name': '/'.join((key[0], kind, key[1])), 'fields': fields}, nests


def rihs(all, key):
    top, todo = description(all, key)
    known = {}
    while todo:
        one = todo.pop()
        if one not in known:
            known[one], more = description(all, one)
            todo += more
    referenced = sorted(known.values(), key=lambda d: d['type_name'])
    text = json.dumps({'type_description': top, 'referenced_type_descriptions': referenced}, separators=(', ', ': '), sort_keys=False)
    return 'RIHS01_' + hashlib.sha256(text.encode()).hexdigest()


def rihs_all():
    all = tree(False)
    return {'/'.join((p, all[p, n][0], n)): rihs(all, (p, n)) for p, n in all}


# ---- ROS 1 ----

# Whether ROS 1 can have such a message: no bounds, no wstring, nor anything that nests one with them.
def possible(all, key):
    return not any(
        base == 'wstring' or string_max or bound or
        (base not in PRIMITIVES and base not in TIMES and not possible(all, tuple(base.split('/'))))
        for base, string_max, array, bound, count, name, constant in lines(all[key][1]))


# genmsg's context is filled by hand: a folder of ours has neither package.xml nor .srv files.
def md5_all():
    import genmsg

    context = genmsg.MsgContext.create_default()
    sums, texts, all = {}, {}, tree(True)

    for (package, name), (kind, text) in all.items():
        if possible(all, (package, name)):
            for ros2, ros1 in TIMES.items():
                text = re.sub(r'(?m)^%s\b' % ros2, ros1, text)
            texts[package, name] = text
            full = package + '/' + name
            context.register(full, genmsg.msg_loader.load_msg_from_string(context, text, full))
    for package, name in texts:
        genmsg.msg_loader.load_depends(context, context.get_registered(package + '/' + name), {})
    for (package, name), (kind, text) in all.items():
        spec = context.get_registered(package + '/' + name) if (package, name) in texts else None
        sums['/'.join((package, kind, name))] = genmsg.compute_md5(context, spec) if spec else '-'
        if name.endswith('_Request') and kind == 'srv' and spec:
            service = name[:-len('_Request')]
            answer = texts.get((package, service + '_Response'))
            if answer is not None:
                full = package + '/' + service
                srv = genmsg.msg_loader.load_srv_from_string(context, texts[package, name] + '---\n' + answer, full)
                sums['/'.join((package, kind, service))] = genmsg.compute_md5(context, srv)
    return sums


# The sums of the packages that Debian has of ROS 1, as they were made of their own files. Whatever is installed of them.
def installed():
    sums = {}
    for package in sorted({p for p, n in tree(True)}):
        for kind in ('msg', 'srv'):
            folder = '/usr/lib/python3/dist-packages/%s/%s' % (package, kind)
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
                if not name.endswith('.py'):
                    continue
                with open(os.path.join(folder, name)) as f:
                    text = f.read()
                for one, sum in re.findall(r"(?m)^class (\w+)\(?[^\n]*\n(?:  _type .*\n)?  _md5sum = ['\"](\w+)", text):
                    sums['/'.join((package, kind, re.sub('(Request|Response)$', r'_\1', one) if kind == 'srv' else one))] = sum
    return sums


# ---- how many ----

def readme():
    counts = {}
    for package, name in set(tree(False)) | set(tree(True)):
        counts[package] = counts.get(package, 0) + 1
    with open(ROOT + '/README.md') as f:
        told = re.findall(r'(?m)^\| `(\w+)` \|.*\| (\d+) \|$', f.read())
    bad = [p for p, n in told if counts.get(p) != int(n)] + sorted(set(counts) - {p for p, n in told})
    for p in bad:
        print('README.md: %s has %s messages' % (p, counts.get(p, 'no')))
    return not bad


def compare(want):
    got = dict(line.split() for line in sys.stdin)
    bad = [k for k in sorted(set(want) | set(got)) if want.get(k) != got.get(k)]
    for k in bad[:20]:
        print('%s: %s, not %s' % (k, got.get(k), want.get(k)))
    print('%d messages, %d differ' % (len(want), len(bad)))
    return not bad and len(want) > 500


if sys.argv[1] == 'readme':
    ok = readme()
elif sys.argv[1] == 'rihs':
    ok = compare(rihs_all())
else:
    sums = md5_all()
    built = installed()
    print('%d of them are installed as Debian has them' % len(built))
    ok = compare({**sums, **built}) and len(built) > 20
sys.exit(0 if ok else 1)
