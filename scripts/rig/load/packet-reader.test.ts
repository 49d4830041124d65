import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { acknowledgement, PACKET, publishPacket } from '#testing/mqtt-packets.ts'
import { PacketReader } from './packet-reader.ts'

type Received = string

function listen(): { reader: PacketReader; received: Received[] } {
  const received: Received[] = []
  const reader = new PacketReader({
    connack: (returnCode, isPresent) => received.push(`connack ${returnCode}${isPresent ? ' present' : ''}`),
    puback: (packetId) => received.push(`puback ${packetId}`),
    suback: (returnCodes) => received.push(`suback ${[...returnCodes].join()}`),
    publish: (packetId) => received.push(`publish ${packetId}`),
  })
  return { reader, received }
}

const puback = (id: number) => acknowledgement(PACKET.puback, id)
const message = (payload: string, qos = 1) => publishPacket('dev/a/cfg', payload, { qos, id: 300, isRetained: true })

const stream = Buffer.concat([
  Buffer.from([0x20, 2, 1, 0]),
  Buffer.from([0x90, 5, 0xff, 0xfe, 1, 1, 0x80]),
  puback(1),
  puback(65535),
  message('{}'),
  message('', 0),
  Buffer.from([0xd0, 0]),
  message('y'.repeat(200)),
  puback(258),
])
const expected = ['connack 0 present', 'suback 1,1,128', 'puback 1', 'puback 65535']
expected.push('publish 300', 'publish 0', 'publish 300', 'puback 258')

describe('PacketReader', () => {
  test('a stream split at any byte gives the same packets', () => {
    for (let at = 0; at <= stream.length; at++) {
      const { reader, received } = listen()
      reader.read(stream.subarray(0, at))
      reader.read(stream.subarray(at))
      assert.deepEqual(received, expected, `split at ${at}`)
    }
  })

  test('a stream that comes byte by byte in one reused buffer gives the same packets', () => {
    const { reader, received } = listen()
    const buffer = Buffer.alloc(1)
    for (const byte of stream) {
      buffer[0] = byte
      reader.read(buffer)
    }
    assert.deepEqual(received, expected)
  })

  test('a packet longer than many chunks is put together', () => {
    const { reader, received } = listen()
    const bytes = Buffer.concat([message('x'.repeat(20_000)), puback(7)])
    for (let at = 0; at < bytes.length; at += 1000) reader.read(bytes.subarray(at, at + 1000))
    assert.deepEqual(received, ['publish 300', 'puback 7'])
  })

  test('acknowledgements in any chunks come complete and in order', () => {
    const chunkSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 30 })
    const packetIds = fc.array(fc.integer({ min: 1, max: 65535 }), { maxLength: 60 })
    fc.assert(
      fc.property(packetIds, chunkSizes, (ids, sizes) => {
        const { reader, received } = listen()
        const bytes = Buffer.concat(ids.map(puback))
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1
          reader.read(bytes.subarray(at, at + size))
          at += size
        }
        assert.deepEqual(
          received,
          ids.map((id) => `puback ${id}`),
        )
      }),
    )
  })

  test('a length of more than four bytes is an error', () => {
    const { reader } = listen()
    assert.throws(() => reader.read(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01])), /four bytes/)
  })
})
