import assert from 'node:assert/strict'
import net, { type Socket } from 'node:net'
import { test } from 'node:test'
import { z } from 'zod'
import { eventually } from '#shared/testing/eventually.ts'
import { acknowledgement, cutPackets, PACKET, readPublish } from '#testing/mqtt-packets.ts'
import { listen } from '../listen.ts'
import { FullSpeedClient } from './full-speed-client.ts'

const WINDOW = 8
const payloadSchema = z.object({ ts: z.number() })

test('half a window follows each half that is acknowledged; the journal has what was, and no more', async (t) => {
  const times: number[] = []
  let socket: Socket | undefined
  const limit = 13
  const server = net.createServer((accepted) => {
    socket = accepted
    let bytes = Buffer.alloc(0)
    accepted.on('data', (chunk: Buffer) => {
      const { packets, rest } = cutPackets(Buffer.concat([bytes, chunk]))
      bytes = Buffer.from(rest)
      for (const packet of packets) {
        if (packet.type === PACKET.connect) accepted.write(Buffer.from([0x20, 2, 0, 0]))
        if (packet.type !== PACKET.publish) continue
        const { id, payload } = readPublish(packet)
        if (times.length < limit) accepted.write(acknowledgement(PACKET.puback, id))
        times.push(payloadSchema.parse(JSON.parse(payload)).ts)
      }
    })
  })
  t.after(() => server.close())
  const port = await listen(server)

  let recorded = 0
  const meter = { nowMs: 0, record: () => recorded++ }
  const settings = { port, window: WINDOW, notBeforeMs: Date.now() + 1000 }
  const client = new FullSpeedClient({ hardwareId: 'cart-7', password: 'secret' }, 0, settings, meter)
  await client.connect()
  client.start()
  await eventually(() => client.acknowledged === limit, 'acknowledgements')
  // three halves are acknowledged, and a message of the fourth
  await eventually(() => times.length === 5 * (WINDOW / 2), 'fifth half')
  assert.equal(client.sent, times.length)
  assert.deepEqual(client.journal(), times.slice(0, limit))
  assert.equal(new Set(times).size, times.length)
  assert.ok(times.every((time) => time >= settings.notBeforeMs))
  assert.equal(recorded, limit)
  assert.equal(client.isDone, false)
  socket?.destroy()
  await eventually(() => client.isDone, 'closed connection')
})
