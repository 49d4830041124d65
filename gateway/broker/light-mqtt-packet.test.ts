import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import './light-mqtt-packet.ts'
import { generate, parser } from 'mqtt-packet'

test('mqtt-packet logs nothing, even if debug is enabled for it', () => {
  const debug = createRequire(createRequire(import.meta.url).resolve('mqtt-packet'))('debug')
  const logged: unknown[] = []
  debug.log = (...words: unknown[]) => logged.push(words)
  debug.enable('mqtt-packet:*,another')
  const read: string[] = []
  const reader = parser()
  reader.on('packet', ({ cmd }) => read.push(cmd))
  reader.parse(generate({ cmd: 'pingreq' }))
  assert.deepEqual(read, ['pingreq'])
  assert.deepEqual(logged, [])
  debug('another')('is heard')
  assert.equal(logged.length, 1)
  debug.disable()
})

test('a parser of mqtt-packet uses a list without a stream, and other users of bl get the stream', () => {
  const requireInPackage = createRequire(createRequire(import.meta.url).resolve('mqtt-packet'))
  const reader = parser()
  assert.ok('_list' in reader)
  assert.equal(reader._list?.constructor, requireInPackage('bl/BufferList.js'))
  assert.equal(typeof requireInPackage('bl')().pipe, 'function')
})
