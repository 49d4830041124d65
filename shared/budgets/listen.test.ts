import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { addressOwner } from './address.ts'
import { listenOn, plainAddress, remoteAddressOf } from './listen.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((found) => found?.some(({ family }) => family === 'IPv6'))

for (const [to, from] of [
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
] as const)
  test(`a server on :: is reachable at ${to} and sees the client address ${from}`, {
    skip: to === '::1' && !hasIpv6 ? 'IPv6 is off' : false,
  }, async (t) => {
    const server = createServer()
    t.after(() => server.close())
    await listenOn(server, { host: '::', port: 0 })
    const { port } = server.address() as AddressInfo // it listens at a port
    const client = connect(port, to)
    t.after(() => client.destroy())
    const [socket] = await once(server, 'connection')
    assert.equal(remoteAddressOf(socket), from)
  })

for (const code of ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EADDRINUSE'])
  test(`after ${code} on :: the server listens on ${code === 'EADDRINUSE' ? 'nothing' : 'IPv4 alone'}`, async (t) => {
    const server: Server = createServer()
    t.after(() => server.close())
    const listen = server.listen.bind(server)
    // a system without IPv6 answers so
    t.mock.method(server, 'listen', (options: { host: string; port: number }) => {
      if (options.host !== '::') return listen(options)
      process.nextTick(() => server.emit('error', Object.assign(new Error(code), { code })))
      return server
    })
    const listening = listenOn(server, { host: '::', port: 0 })
    if (code === 'EADDRINUSE') return assert.rejects(listening, { code })
    await listening
    assert.equal((server.address() as AddressInfo).address, '0.0.0.0') // it listens at a port
  })

test('an IPv4 address has one form, and limits for IPv6 count the network', () => {
  for (const address of ['::ffff:192.168.1.20', '::FFFF:192.168.1.20', '192.168.1.20'])
    assert.deepEqual([plainAddress(address), addressOwner(address)], ['192.168.1.20', '192.168.1.20'])
  assert.equal(plainAddress('2001:db8::7'), '2001:db8::7')
  assert.equal(addressOwner('2001:db8::7'), addressOwner('2001:db8:0:0:ffff::9'))
  assert.equal(remoteAddressOf(new Socket()), 'unknown')
})
