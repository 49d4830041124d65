import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Frame } from '#realtime/frames.ts'
import { FrameCounter } from './frame-counter.ts'

const PING = Buffer.from([0x89, 0])
const times = { timestamp: '', updated_at: '', last_responded_at: '' }
const deviceData = (length: number) =>
  new Frame({ type: 'device_data', hardwareId: '', payload: { x: 'x'.repeat(length) }, ...times }).bytes

test('counts the frames of a gateway, wherever their bytes are split', () => {
  const status = new Frame({ type: 'device_status', hardwareId: '', payload: { is_online: true }, timestamp: '' })
  const removed = new Frame({ type: 'cart_removed', cart: '' })
  const sent = [status.bytes, deviceData(0), PING, removed.bytes, deviceData(300), deviceData(70_000)]
  const bytes = Buffer.concat(sent)
  // all headers are in the first of these bytes
  for (let split = 0; split < 800; split++) {
    let pings = 0
    const lengths: number[] = []
    const counter = new FrameCounter({
      deviceData: (frame, at, end) => lengths.push(JSON.parse(frame.toString('utf8', at, end)).payload.x.length),
      ping: () => pings++,
    })
    for (const [from, to] of [[0, split], [split, split + 1], [split + 1]]) counter.take(bytes.subarray(from, to))
    assert.deepEqual([split, lengths, counter.deviceData, counter.others, pings], [split, [0, 300, 70_000], 3, 2, 1])
  }
})
