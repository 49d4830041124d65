import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientAddresses, parseProxies } from './client-address.ts'

const addresses = new ClientAddresses(parseProxies('127.0.0.1, 10.1.0.0/16, fd00::/8') ?? undefined)

for (const [socket, forwarded, client] of [
  ['127.0.0.1', undefined, '127.0.0.1'],
  ['127.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['::ffff:127.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['fd12::1', '2001:db8::9', '2001:db8::9'],
  // a client that is not a proxy may send anything
  ['198.51.100.7', '203.0.113.1', '198.51.100.7'],
  ['127.0.0.1', '203.0.113.1, 198.51.100.7', '198.51.100.7'],
  ['127.0.0.1', '203.0.113.1, 198.51.100.7, 10.1.2.3', '198.51.100.7'],
  ['127.0.0.1', '10.1.2.3', '127.0.0.1'],
  ['127.0.0.1', 'nonsense', '127.0.0.1'],
  ['127.0.0.1', '', '127.0.0.1'],
] as const)
  test(`a request from ${socket} forwarded for ${forwarded} has the client ${client}`, () => {
    assert.equal(addresses.of(socket, forwarded), client)
  })

test('no address is a proxy unless configured', () => {
  assert.equal(new ClientAddresses().of('127.0.0.1', '198.51.100.7'), '127.0.0.1')
})

for (const text of ['localhost', '10.0.0.0/33', '10.0.0.0/x', '::/129', '10.0.0.0.0', '10.0.0.0/'])
  test(`${text} is rejected as an address or network`, () => assert.equal(parseProxies(text), null))
