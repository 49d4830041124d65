import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeMachine, type FakeParts } from '#testing/fake-machine.ts'
import { readMachineIds } from './machine-ids.ts'

const UUID = '4c4c4544-0043-3510-8052-b4c04f564231'
const SYSTEM_ID = '3d1219c7c4c5404aaa1f6d2a48adfda4'
const CARD = { address: 'dc:a6:32:01:02:03' }

function signsOf(t: TestContext, parts: FakeParts): string[] {
  return Object.keys(readMachineIds(new FakeMachine(t, parts).root))
}

test('a Raspberry Pi is identified by hashes of its board, network cards and system', (t) => {
  const parts = { board: '10000000abcdef01', systemId: SYSTEM_ID, cards: [CARD] }
  const { root } = new FakeMachine(t, parts)
  const signs = readMachineIds(root)
  assert.deepEqual(Object.keys(signs), ['board', 'network', 'system'])
  assert.deepEqual(readMachineIds(root), signs)
  assert.doesNotMatch(JSON.stringify(signs), /abcdef01|dc:a6|3d1219c7/)
  const other = readMachineIds(new FakeMachine(t, { ...parts, board: '10000000abcdef02' }).root)
  assert.notDeepEqual(other.board, signs.board)
  assert.deepEqual([other.network, other.system], [signs.network, signs.system])
})

test('a PC is identified by its serial numbers where they are readable', (t) => {
  const files = { 'sys/class/dmi/id/product_uuid': UUID, 'sys/class/dmi/id/board_serial': '/7XKQ1/CN129' }
  assert.deepEqual(signsOf(t, { files }), ['product', 'product_board'])
})

for (const serial of [
  '',
  '0000000000000000',
  '00000000-0000-0000-0000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  'To be filled by O.E.M.',
  'Default string',
  'System Serial Number',
  'Not Specified',
  'None',
  'N/A',
  '123456789',
  '03000200-0400-0500-0006-000700080009',
  '..............',
  'xx',
])
  test(`"${serial}" is not a valid serial number`, (t) => {
    const files = { 'sys/class/dmi/id/product_uuid': serial, 'sys/class/dmi/id/board_serial': serial }
    assert.deepEqual(signsOf(t, { files, board: serial }), [])
  })

for (const [name, card] of [
  ['an adapter on USB', { ...CARD, device: 'pci0000:00/usb1/1-1/1-1:1.0' }],
  ['an address that is drawn at each start', { ...CARD, assigned: 1 }],
  ['an address that a system gave', { ...CARD, assigned: 3 }],
  ['the card of a virtual machine', { address: '52:54:00:12:34:56' }],
  ['a bridge', { ...CARD, device: null }],
  ['no address', { address: '00:00:00:00:00:00' }],
  ['what is no address', { address: 'dc:a6' }],
] as const)
  test(`${name} does not identify a host`, (t) => {
    assert.deepEqual(signsOf(t, { cards: [card] }), [])
  })

for (const [name, parts] of [
  ['not made yet', { systemId: 'uninitialized' }],
  ['empty', { systemId: '' }],
  ['zeros', { systemId: '0'.repeat(32) }],
  ['that of an image', { systemId: SYSTEM_ID, files: { '.dockerenv': '' } }],
  [
    'until the next start only',
    { systemId: SYSTEM_ID, files: { 'proc/self/mounts': 'tmpfs /etc/machine-id tmpfs ro,mode=755 0 0\n' } },
  ],
] as const)
  test(`a system id that is ${name} does not identify a host`, (t) => {
    assert.deepEqual(signsOf(t, parts), [])
  })

test('a host without readable ids has no identity', (t) => {
  assert.deepEqual(signsOf(t, {}), [])
  assert.deepEqual(readMachineIds('/no/such/root'), {})
  // a folder instead of a file
  assert.deepEqual(signsOf(t, { files: { 'etc/machine-id/x': '' } }), [])
})
