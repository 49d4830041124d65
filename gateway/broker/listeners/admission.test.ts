import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { Rates } from '#shared/budgets/rates.ts'
import { Slots } from '#shared/budgets/slots.ts'
import { Connections, type ListenerBudgets } from './admission.ts'

let lastPort = 0

class Idle extends Duplex {
  readonly remotePort = ++lastPort

  override _read(): void {}
}

function doorOf({ perOwner = 1000, total = 1000 } = {}): ListenerBudgets {
  return {
    halfOpen: new Slots({ perOwner, total }),
    failedLogins: new Rates({ perSecond: 5, burst: 100 }),
  }
}

test('a closed socket frees its place in the total and in the limit of its address', async () => {
  const connections = new Connections({ total: 3, perAddress: 2 }, doorOf())
  const sockets = [new Idle(), new Idle(), new Idle()] as const
  assert.equal(connections.admit(sockets[0], 'near'), undefined)
  assert.equal(connections.admit(sockets[1], 'near'), undefined)
  assert.equal(connections.admit(new Idle(), 'near'), 'too_many_connections_of_address')
  assert.equal(connections.admit(sockets[2], 'far'), undefined)
  for (const socket of sockets) connections.loggedIn(socket)
  assert.equal(connections.admit(new Idle(), 'elsewhere'), 'too_many_connections')
  sockets[0].destroy()
  await once(sockets[0], 'close')
  assert.equal(connections.admit(new Idle(), 'near'), undefined)
})

test('an address that guesses passwords gets a hundred TLS handshakes, and others are not limited', () => {
  const connections = new Connections({ total: 1000, perAddress: 1000 }, doorOf())
  for (let i = 0; i < 100; i++) assert.equal(connections.loginFailed('guesser'), 0)
  assert.ok(connections.loginFailed('guesser') > 0)
  const admit = (address: string, isHandshake: boolean) => connections.admit(new Idle(), address, { isHandshake })
  const admitted = Array.from({ length: 300 }, () => admit('guesser', true))
  const taken = admitted.filter((refusal) => refusal === undefined).length
  // plus the tokens added during the test
  assert.ok(taken >= 100 && taken < 300, `${taken} taken`)
  assert.ok(admitted.includes('too_many_failed_logins'))
  assert.equal(admit('guesser', false), undefined)
  assert.equal(admit('neighbour', true), undefined)
})

test('responses are delayed for a user name tried from many addresses, and for an IPv6 network', () => {
  const connections = new Connections({ total: 1000, perAddress: 1000 }, doorOf())
  for (let i = 0; i < 100; i++) assert.equal(connections.loginFailed(`10.0.0.${i}`, 'cart-1'), 0)
  assert.ok(connections.loginFailed('10.0.0.200', 'cart-1') > 0)
  assert.equal(connections.loginFailed('10.0.0.200', 'cart-2'), 0)
  for (let i = 0; i < 100; i++) connections.loginFailed(`2001:db8::${i}`)
  assert.ok(connections.loginFailed('2001:db8::ffff') > 0)
})

test('idle sockets make room: those of a crowd for others, the silent for their own address', (t) => {
  const now = t.mock.method(performance, 'now', () => 0)
  const connections = new Connections({ total: 1000, perAddress: 1000 }, doorOf({ perOwner: 10, total: 16 }))
  const crowd = Array.from({ length: 10 }, () => new Idle())
  for (const socket of crowd) assert.equal(connections.admit(socket, 'crowd'), undefined)
  assert.equal(connections.admit(new Idle(), 'crowd'), 'too_many_half_open')
  for (let i = 0; i < 6; i++) assert.equal(connections.admit(new Idle(), 'other'), undefined)
  for (let i = 0; i < 2; i++) assert.equal(connections.admit(new Idle(), 'good'), undefined)
  assert.deepEqual(
    crowd.map(({ destroyed }) => destroyed),
    crowd.map((_, i) => i < 2),
  )
  now.mock.mockImplementation(() => 2_000)
  for (let i = 0; i < 2; i++) assert.equal(connections.admit(new Idle(), 'crowd'), undefined)
  assert.equal(crowd.filter(({ destroyed }) => destroyed).length, 4)
})

test('the connections of a proxy count individually and towards the total', () => {
  const limits = { total: 3, perAddress: 1 }
  const connections = new Connections(limits, doorOf({ perOwner: 1 }), (address) => address === 'proxy')
  assert.equal(connections.admit(new Idle(), 'near'), undefined)
  assert.equal(connections.admit(new Idle(), 'near'), 'too_many_connections_of_address')
  const proxied = [new Idle(), new Idle()]
  for (const socket of proxied) assert.equal(connections.admit(socket, 'proxy'), undefined)
  for (const socket of proxied) connections.loggedIn(socket)
  // replaces the one that has not logged in
  assert.equal(connections.admit(new Idle(), 'proxy'), undefined)
  assert.equal(connections.admit(new Idle(), 'far'), undefined)
})

test('sockets that are open at a stop are closed', async () => {
  const connections = new Connections({ total: 10, perAddress: 10 }, doorOf())
  const socket = new Idle()
  connections.admit(socket, 'near')
  await connections.stop()
  assert.ok(socket.destroyed)
})
