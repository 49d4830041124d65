import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Uptime } from './uptime.ts'

test('only time in which the gateway was there counts', () => {
  const uptime = new Uptime()
  uptime.end(50)
  uptime.begin(100)
  uptime.end(200)
  uptime.end(250)
  uptime.begin(300)
  assert.equal(uptime.upMs(0, 150), 50)
  assert.equal(uptime.upMs(150, 350), 100)
  assert.equal(uptime.upMs(200, 300), 0)
})
