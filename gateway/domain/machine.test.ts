import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MachineIds, mergeMachineIds, mismatchedId } from './machine.ts'

const PI: MachineIds = { board: ['b1'], network: ['n1', 'n2'], system: ['s1'] }

const CASES: [name: string, known: MachineIds, now: MachineIds, by: string | null][] = [
  ['the same', PI, PI, null],
  ['nothing is known yet', {}, PI, null],
  ['nothing can be read now', PI, {}, null],
  ['nothing in common can be read', { board: ['b1'] }, { system: ['s2'] }, null],
  ['a cloned system on another board', PI, { ...PI, board: ['b2'] }, 'board'],
  ['another board alone, with the network cards of before', PI, { ...PI, board: ['b2'] }, 'board'],
  ['a new system on the same board', PI, { ...PI, system: ['s2'] }, null],
  ['another network card in the same board', PI, { ...PI, network: ['n9'] }, null],
  ['one of two network cards', PI, { network: ['n2'], system: ['s2'] }, null],
  [
    'other network cards and the same system, without a serial number',
    PI,
    { network: ['n9'], system: ['s1'] },
    'network',
  ],
  ['another system where nothing else can be read', { system: ['s1'] }, { system: ['s2'] }, 'system'],
  [
    'the serial number of a PC decides before that of its board',
    { product: ['u1'], product_board: ['x'] },
    { product: ['u2'], product_board: ['x'] },
    'product',
  ],
]

for (const [name, known, now, by] of CASES)
  test(`${name}: ${by === null ? 'no other machine' : `another by its ${by}`}`, () => {
    assert.equal(mismatchedId(known, now), by)
  })

test('what cannot be read this time stays known, and network cards add up', () => {
  assert.deepEqual(mergeMachineIds(PI, { network: ['n3'], system: ['s2'] }), {
    board: ['b1'],
    system: ['s2'],
    network: ['n3', 'n1', 'n2'],
  })
  assert.deepEqual(mergeMachineIds(PI, {}), PI)
  let signs: MachineIds = {}
  for (let i = 0; i < 100; i++) signs = mergeMachineIds(signs, { network: [`n${i}`] })
  assert.deepEqual([signs.network?.length, signs.network?.[0]], [16, 'n99'])
})
