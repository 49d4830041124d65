import type { Random } from '#shared/random.ts'

/** Texts that no strict receiver accepts: not UTF-8, U+0000, half a surrogate pair [MQTT-1.5.3-1, MQTT-1.5.3-2]. */
const ILL_FORMED: readonly [Buffer, ...Buffer[]] = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0x80]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xe0, 0x80, 0xaf]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xed, 0xb0, 0x80, 0xed, 0xa0, 0x80]),
  Buffer.from([0xf4, 0x90, 0x80, 0x80]),
  Buffer.from([0xe2, 0x82]),
  Buffer.from([0]),
]

const STRANGE: readonly [string, ...string[]] = [
  '',
  ' ',
  '/',
  '//',
  '#',
  '+',
  '+/+/+',
  'dev/+/tlm',
  'dev/#',
  'dev/ME/#',
  'dev/ME/tlm/#',
  'dev/ME/t#m',
  'dev/ME/tlm+',
  'dev/ME',
  'dev/ME/',
  'dev//tlm',
  '/dev/ME/tlm',
  'dev/ME/tlm/more',
  'DEV/ME/TLM',
  '$SYS/broker/uptime',
  '$SYS/#',
  '$share/group/dev/ME/cmd',
  '$queue/dev/ME/cmd',
  '__proto__',
  'constructor',
  'dev/__proto__/tlm',
  '\ufeffdev/ME/tlm',
  '\u202edev/ME/tlm',
  'dev/ME/\uffff',
  '\u{1f3cc}'.repeat(40),
  '\u0001\u001b[2J\r\n',
  "'; DROP TABLE devices; --",
  '../../etc/passwd',
  '%s%n%x',
  'a/'.repeat(13),
  '/'.repeat(65_535),
  'x'.repeat(65_535),
]

/** Ill-formed string, alone or in the middle of `around`. */
export function illFormedText(random: Random, around = ''): Buffer {
  const at = random.integer(0, around.length)
  return Buffer.concat([Buffer.from(around.slice(0, at)), random.pick(ILL_FORMED), Buffer.from(around.slice(at))])
}

/** Topic, filter or id that a client might try; most are well formed. */
export function wildText(random: Random, hardwareId: string): Buffer {
  if (random.chance(0.25)) return illFormedText(random, `dev/${hardwareId}/tlm`)
  return Buffer.from(random.pick(STRANGE).replace('ME', hardwareId))
}
