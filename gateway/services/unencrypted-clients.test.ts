import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '#shared/testing/clocks.ts'
import { UnencryptedClients } from './unencrypted-clients.ts'

test('client number 1,001 replaces the one that was last seen longest ago', () => {
  const plain = new UnencryptedClients(new FakeClock())
  for (let i = 0; i < 1_000; i++) plain.noteDevice(`cart-${i}`, '192.168.1.9')
  plain.noteDevice('cart-0', '192.168.1.10')
  plain.noteDevice('new', '192.168.1.9')
  const ids = plain.all().map(({ id }) => id)
  assert.deepEqual(ids.slice(0, 3), ['new', 'cart-0', 'cart-999'])
  assert.deepEqual([ids.length, ids.includes('cart-1')], [1_000, false])
})
