import fc from 'fast-check'
import { toIso } from '#shared/time.ts'
import { acknowledgement, DISCONNECT, PACKET, PINGREQ, packetOf, publishPacket, text, uint16 } from '../mqtt-packets.ts'

/** Packet of a device: its kind, and a number that determines its details. */
export interface Step {
  kind: keyof typeof KINDS
  detail: number
}

/** Traffic of a device on one connection: its bursts, their portions, and if the device ends the connection. */
export interface Traffic {
  bursts: Step[][]
  portions: number[]
  isEnded: boolean
}

/** Bytes of a burst. */
export interface SentBurst {
  portions: Buffer[]
  /** Number of packets that must come back; null if the gateway must close the connection. */
  answers: number | null
}

interface Details {
  hardwareId: string
  nowMs: number
  id: number
  detail: number
}

/** Returns a fix on a track through a zone 100 m wide, with a time in the last seconds; details differ. */
function fix({ nowMs, id, detail }: Details): Record<string, unknown> {
  const ts = nowMs - 20_000 + id * 100 + (detail % 7)
  return { ts, lat: 0.1, long: 0.1 + ((id * 3 + (detail % 3)) % 60) * 0.0001, speed: (detail % 400) / 10 }
}

function telemetry(details: Details, payload: unknown, options = {}): Buffer {
  const { hardwareId, id } = details
  const content = Buffer.isBuffer(payload) || typeof payload === 'string' ? payload : JSON.stringify(payload)
  return publishPacket(`dev/${hardwareId}/tlm`, content, { id, ...options })
}

function uplink({ hardwareId, id }: Details, level: string, payload: unknown): Buffer {
  return publishPacket(`dev/${hardwareId}/${level}`, JSON.stringify(payload), { id })
}

/**
 * Kinds of packets: the frequency, the number of packets in response (null: none, and the connection is closed), and
 * the bytes.
 */
const KINDS = {
  plain: [40, 1, (d: Details) => telemetry(d, fix(d))],
  rich: [
    10,
    1,
    (d: Details) =>
      telemetry(d, {
        ...fix(d),
        battery_voltage: 48 + (d.detail % 50) / 10,
        lock_status: d.detail % 2,
        heading: 7,
      }),
  ],
  named: [5, 1, (d: Details) => telemetry(d, { ...fix(d), [`key${d.detail % 40}`]: `Grün ${d.detail} \u{1f6a9}` })],
  inherited: [1, 1, (d: Details) => telemetry(d, { ...fix(d), constructor: 1, toString: d.detail })],
  backwards: [4, 1, (d: Details) => telemetry(d, { ...fix(d), ts: d.nowMs - (d.detail % 200_000) })],
  same: [3, 1, (d: Details) => telemetry(d, { ...fix(d), ts: d.nowMs - 1_000 * (d.detail % 3) })],
  fraction: [1, 1, (d: Details) => telemetry(d, { ...fix(d), ts: d.nowMs - (d.detail % 100) / 10 })],
  undated: [3, 1, (d: Details) => telemetry(d, { ...fix(d), ts: undefined })],
  old: [2, 1, (d: Details) => telemetry(d, { ...fix(d), ts: d.nowMs - 300_000 - (d.detail % 3) + 1 })],
  future: [2, 1, (d: Details) => telemetry(d, { ...fix(d), ts: d.nowMs + 300_000 + (d.detail % 3) - 1 })],
  spoilt: [2, 1, (d: Details) => telemetry(d, { ...fix(d), speed: d.detail - 500, 'no name': 1 })],
  nowhere: [1, 1, (d: Details) => telemetry(d, { ts: d.nowMs, lat: 0, long: 0 })],
  halfway: [1, 1, (d: Details) => telemetry(d, { ts: d.nowMs - d.detail, lat: 1, speed: 3 })],
  empty: [1, 1, (d: Details) => telemetry(d, ['{}', '', '[]', '{"s":[]}', 'null', '7'][d.detail % 6] ?? '')],
  batch: [4, 1, (d: Details) => telemetry(d, [fix(d), fix({ ...d, id: d.id + 5 }), { ...fix(d), ts: d.nowMs }])],
  envelope: [2, 1, (d: Details) => telemetry(d, { boot: 1, up: 5_000, s: [{ up: 4_000, speed: d.detail % 9 }] })],
  terminated: [2, 1, (d: Details) => telemetry(d, `${JSON.stringify(fix(d))}${'\0'.repeat(1 + (d.detail % 4))}`)],
  marked: [1, 1, (d: Details) => telemetry(d, `\ufeff${JSON.stringify(fix(d))}`)],
  isoTime: [2, 1, (d: Details) => telemetry(d, { ...fix(d), ts: toIso(Number(fix(d).ts)) })],
  noNumber: [2, 1, (d: Details) => telemetry(d, `{"fuel":nan,${JSON.stringify(fix(d)).slice(1)}`)],
  unreadable: [2, 1, (d: Details) => telemetry(d, '{"ts":')],
  noText: [2, 1, (d: Details) => telemetry(d, Buffer.from(`{"ts":${d.nowMs},"note":"\xff"}`, 'latin1'))],
  replaced: [1, 1, (d: Details) => telemetry(d, { ...fix(d), note: '\ufffd' })],
  long: [1, 1, (d: Details) => telemetry(d, { ...fix(d), note: 'x'.repeat(900 + d.detail) })],
  copy: [3, 1, (d: Details) => telemetry(d, fix(d), { isDup: true })],
  retained: [2, 1, (d: Details) => telemetry(d, fix(d), { isRetained: true })],
  qos0: [4, 0, (d: Details) => telemetry(d, fix(d), { qos: 0 })],
  qos2: [3, 2, (d: Details) => Buffer.concat([telemetry(d, fix(d), { qos: 2 }), acknowledgement(PACKET.pubrel, d.id)])],
  status: [2, 1, (d: Details) => uplink(d, 'st', { online: d.detail % 2 === 0, fw: `1.${d.detail % 9}` })],
  lock: [2, 1, (d: Details) => uplink(d, 'evt', { event: 'lock', source: 'key', ts: d.nowMs - d.detail })],
  applied: [1, 1, (d: Details) => uplink(d, 'ack', { cfg: d.detail })],
  time: [2, 1, (d: Details) => uplink(d, 'tq', { up: d.detail })],
  ping: [3, 1, () => PINGREQ],
  padded: [
    1,
    1,
    (d: Details) => {
      // its length in two bytes although one would suffice
      const body = Buffer.concat([text(`dev/${d.hardwareId}/tlm`), uint16(d.id), Buffer.from(`{"ts":${d.nowMs}}`)])
      return Buffer.concat([Buffer.from([0x32, body.length | 128, 0]), body])
    },
  ],
  unnumbered: [0.3, null, (d: Details) => telemetry(d, fix(d), { id: 0 })],
  foreign: [0.3, null, (d: Details) => publishPacket('dev/somebody-else/tlm', '{}', { id: d.id })],
  short: [0.3, null, (d: Details) => packetOf(0x32, uint16(200), Buffer.from(`dev/${d.hardwareId}/tlm`))],
  endless: [0.2, null, () => Buffer.from([0x32, 0xff, 0xff, 0xff, 0xff, 1])],
  goodbye: [0.3, null, () => DISCONNECT],
} as const

// the keys of an object defined here
const ALL_KINDS = Object.keys(KINDS) as (keyof typeof KINDS)[]
/** Kinds in a burst that goes through the fast lane as a whole. */
const PLAIN_KINDS: readonly (keyof typeof KINDS)[] = ['plain', 'rich', 'named', 'backwards', 'same']

function burstOf(kinds: readonly (keyof typeof KINDS)[]): fc.Arbitrary<Step[]> {
  const weighted = kinds.map((kind) => ({
    arbitrary: fc.constant(kind),
    weight: Math.round(KINDS[kind][0] * 10),
  }))
  const step = fc.record({ kind: fc.oneof(...weighted), detail: fc.nat(999) })
  return fc.array(step, { minLength: 1, maxLength: 25, size: 'max' })
}

/** Traffic of one connection. */
export const trafficArbitrary: fc.Arbitrary<Traffic> = fc.record({
  bursts: fc.array(fc.oneof(burstOf(PLAIN_KINDS), burstOf(ALL_KINDS)), { minLength: 1, maxLength: 5 }),
  portions: fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 4_000 })), {
    minLength: 1,
    maxLength: 8,
  }),
  isEnded: fc.boolean(),
})

/** Returns the bytes of each burst of a device whose clock shows `nowMs`. */
export function sendable({ bursts, portions }: Traffic, hardwareId: string, nowMs: number): SentBurst[] {
  let id = 0
  let isOver = false
  return bursts.map((steps) => {
    const packets = steps.map(({ kind, detail }) => KINDS[kind][2]({ hardwareId, nowMs, id: ++id, detail }))
    const counts = steps.map(({ kind }) => KINDS[kind][1])
    isOver ||= counts.includes(null)
    const answers = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
    return { portions: cut(Buffer.concat(packets), [...portions, 500]), answers: isOver ? null : answers }
  })
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const portions: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length
    portions.push(bytes.subarray(at, at + size))
    at += size
  }
  return portions
}
