import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TelemetryPackets } from './telemetry-packets.ts'

/** Topic, packet id and payload of one QoS 1 PUBLISH of more than 127 bytes. */
function decode(packet: Buffer) {
  const topicLength = packet.readUInt16BE(3)
  const idAt = 5 + topicLength
  return {
    header: packet[0],
    topic: packet.toString('utf8', 5, idAt),
    packetId: packet.readUInt16BE(idAt),
    payload: JSON.parse(packet.toString('utf8', idAt + 2)),
  }
}

test('a stamped slot is a message of that time with the packet id of the slot', () => {
  const packets = new TelemetryPackets('cart-7', 4)
  for (const tsMs of [1_765_967_400_123, 1_765_967_999_999, 1_765_968_000_000]) {
    packets.stamp(2, tsMs)
    const { topic, packetId, payload } = decode(packets.bytes(2, 1))
    assert.equal(topic, 'dev/cart-7/tlm')
    assert.equal(packetId, 3)
    assert.equal(payload.ts, tsMs)
    assert.equal(payload.lock_status, 1)
    assert.ok(payload.lat > 36.5 && payload.lat < 36.6)
    assert.ok(payload.long > -122 && payload.long < -121.9)
    assert.ok(payload.speed >= 10 && payload.speed < 20)
  }
})

test('the payload is about as long as the one of a real device', () => {
  const packets = new TelemetryPackets('cart-7', 1)
  packets.stamp(0, Date.UTC(2026, 0, 1))
  const { length } = JSON.stringify(decode(packets.bytes(0, 1)).payload)
  assert.ok(length > 90 && length < 120, `${length}`)
})

test('slots next to each other are messages next to each other', () => {
  const packets = new TelemetryPackets('cart-7', 3)
  packets.stamp(0, 1_765_967_400_001)
  packets.stamp(1, 1_765_967_400_002)
  const both = packets.bytes(0, 2)
  assert.equal(decode(both.subarray(0, both.length / 2)).payload.ts, 1_765_967_400_001)
  assert.equal(decode(both.subarray(both.length / 2)).payload.ts, 1_765_967_400_002)
})

test('a repeated message has the DUP flag until the slot is stamped again', () => {
  const packets = new TelemetryPackets('cart-7', 1)
  packets.stamp(0, 1_765_967_400_001)
  packets.markRepeated(0)
  assert.equal(decode(packets.bytes(0, 1)).header, 0x3a)
  packets.stamp(0, 1_765_967_400_002)
  assert.equal(decode(packets.bytes(0, 1)).header, 0x32)
})

test('the devices of a fleet drive on lanes side by side', () => {
  const lats = [0, 1, 19, 20].map((lane) => {
    const packets = new TelemetryPackets('cart-7', 1, lane)
    packets.stamp(0, Date.UTC(2026, 0, 1))
    return decode(packets.bytes(0, 1)).payload.lat
  })
  assert.deepEqual(lats, [36.568, 36.569, 36.587, 36.568])
})
