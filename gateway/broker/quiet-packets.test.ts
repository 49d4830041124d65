import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import './quiet-packets.ts'
import { generate, parser } from 'mqtt-packet'

test('mqtt-packet has nothing to say, whoever else wants to hear debug', () => {
  const debug = createRequire(createRequire(import.meta.url).resolve('mqtt-packet'))('debug')
  const said: unknown[] = []
  debug.log = (...words: unknown[]) => said.push(words)
  debug.enable('mqtt-packet:*,another')
  const read: string[] = []
  const reader = parser()
  reader.on('packet', ({ cmd }) => read.push(cmd))
  reader.parse(generate({ cmd: 'pingreq' }))
  assert.deepEqual(read, ['pingreq'])
  assert.deepEqual(said, [])
  debug('another')('is heard')
  assert.equal(said.length, 1)
  debug.disable()
})
