/** Texts that programs tend to stumble over, as parameters and as fields. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ufeff',
  '\ud800',
  '👻'.repeat(40),
  'e\u0301\u202eevil',
  'x'.repeat(70),
  'x'.repeat(5_000),
  '../../etc/passwd',
  '%',
  '%00',
  "'; DROP TABLE device; --",
  '" OR 1=1',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'NaN',
  'true',
  'active',
  '.',
  '..',
  '*',
  '+',
  '#',
]

/** Numbers at and past every border, as text. */
export const HOSTILE_NUMBERS: readonly string[] = [
  '-1',
  '0',
  '-0',
  '1.5',
  '1e3',
  '1e999',
  '0x10',
  ' 1',
  '١',
  '2147483648',
  '9007199254740993',
  '99999999999999999999',
  'Infinity',
]

/** Values of every type, none of which most fields may have. */
export const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 60,
  [],
  [null],
  [[]],
  {},
  { a: { b: { c: 1 } } },
  ...HOSTILE_TEXTS,
]

/** Bodies that are wrong whatever the operation is. */
export const BROKEN_BODIES: readonly string[] = [
  '',
  ' ',
  '{',
  '{"a":}',
  "{'a':1}",
  '{"a":1}{"b":2}',
  'null',
  'true',
  '1',
  '"text"',
  '[]',
  '[{}]',
  '\ufeff[]',
  'NaN',
  '{"a":"\u0000"}',
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
]

/** Fields no operation has, with names every object has; as text, since a literal would not hold `__proto__`. */
export const FOREIGN_FIELDS: readonly string[] = [
  '"__proto__":{"role":"admin"}',
  '"constructor":{"prototype":{"x":1}}',
  '"toString":1',
  '"hasOwnProperty":"x"',
  '"":1',
  '"user_id":"x"',
  '"\\u0000":1',
  `"deep":${'['.repeat(5_000)}${']'.repeat(5_000)}`,
]

export const WRONG_CONTENT_TYPES: readonly string[] = [
  '',
  'text/plain',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json5',
  'application/jsonjson',
  'application/v2+json',
  'application/v2+jsonx',
  ',',
]
