import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Shelf } from '#dashboard/live/page/kept-text.ts'
import { boxZone, circleZone, zonesJson } from '#dashboard/testing/zones-json.ts'
import type { ZoneJson } from './zone-draft.ts'
import { ZoneEditor } from './zone-editor.ts'
import { cornersOn, nearest, ringOf, shapeFault, withInserted, zoneAt } from './zone-shape.ts'

const BOX = boxZone('box', [-81.6, 28.4, -81.57, 28.42], { type: 'stop' })
const ROUND = circleZone('round', [-81.58, 28.41], 20, { type: 'alert' })

function storage(): Shelf {
  const items = new Map<string, string>()
  return () => ({
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  })
}

const set = (etag: string, ...zones: ZoneJson[]) => ({ zones: zonesJson(...zones), etag })
const ids = (editor: ZoneEditor) => editor.zones.map(({ id }) => id)

test('drawing can be undone step by step', () => {
  const editor = new ZoneEditor(storage())
  editor.read(set('1', BOX))
  editor.choose('box')
  editor.setCorners(withInserted(cornersOn(BOX), 1, [-9_080_000, 3_300_000]))
  editor.corner.value = 0
  editor.cut()
  editor.remove()
  assert.deepEqual([ids(editor), editor.isChanged], [[], true])
  for (let i = 0; i < 3; i++) editor.undo()
  assert.deepEqual([editor.zones[0]?.geometry, editor.isChanged, editor.canUndo], [BOX.geometry, false, false])
})

test('three corners are the minimum, and a drawn ring becomes a zone with a new id', () => {
  const editor = new ZoneEditor(storage())
  editor.read(set('1'))
  editor.drawing.value = cornersOn(BOX).slice(0, 3)
  editor.close({ name: 'New', type: 'stop' })
  editor.drawing.value = cornersOn(BOX)
  editor.close({ name: 'New', type: 'stop' })
  const [first = '', second = ''] = ids(editor)
  assert.match(first, /^stop-[0-9a-z]+$/)
  assert.notEqual(first, second)
  editor.choose(first)
  editor.corner.value = 1
  editor.cut()
  assert.equal(cornersOn(editor.chosen ?? BOX).length, 3)
})

test('changes saved by others are shown immediately, unless a draft has changes', () => {
  const editor = new ZoneEditor(storage())
  editor.read(set('1', BOX))
  editor.read(set('2', BOX, ROUND))
  assert.deepEqual([ids(editor), editor.theirs], [['box', 'round'], null])
  editor.change({ ...BOX, properties: { ...BOX.properties, name: 'Mine' } })
  const theirs = { ...BOX, properties: { ...BOX.properties, name: 'Theirs' } }
  editor.read(set('3', theirs))
  assert.deepEqual([ids(editor), editor.theirs?.etag], [['box', 'round'], '3'])
  editor.keepMine()
  assert.deepEqual([ids(editor), editor.etag, editor.chosen], [['box'], '3', null])
  assert.equal(editor.zones[0]?.properties.name, 'Mine')
  editor.read(set('4', ROUND))
  editor.discard()
  assert.deepEqual([ids(editor), editor.etag, editor.isChanged], [['round'], '4', false])
})

test('concurrent edits of two users are merged, with a question only if both changed one zone', () => {
  const place = (east: number): [number, number] => [-81.58 + east / 1_000, 28.41]
  const drawn = (editor: ZoneEditor, name: string, east: number) =>
    editor.add({ type: 'Point', coordinates: place(east) }, { name, type: 'stop' }, 20)
  const names = (editor: ZoneEditor) => editor.zones.map(({ properties }) => properties.name).sort()
  const [one, other] = [new ZoneEditor(storage()), new ZoneEditor(storage())]
  for (const editor of [one, other]) editor.read(set('1', BOX, ROUND))
  drawn(one, 'C-zone', 1)
  drawn(other, 'D-zone', 2)
  other.choose('round')
  other.remove()
  other.read(set('2', ...one.zones))
  assert.deepEqual([other.theirs, other.etag, names(other)], [null, '2', ['C-zone', 'D-zone', 'box']])
  other.undo()
  assert.deepEqual(names(other), ['C-zone', 'D-zone', 'box', 'round'])
  other.undo()
  assert.deepEqual([names(other), other.isChanged], [['C-zone', 'box', 'round'], false])

  // one id for two zones, as in drafts of an earlier app and in proposals from two course maps
  const mine = circleZone('stop-3', place(3), 20, { type: 'stop', name: 'Mine' })
  other.replace([...other.zones, mine])
  other.choose('stop-3')
  const theirs = circleZone('stop-3', place(4), 20, { type: 'stop', name: 'Theirs' })
  other.read(set('3', BOX, ROUND, theirs))
  assert.deepEqual([other.theirs, names(other)], [null, ['Mine', 'Theirs', 'box', 'round']])
  assert.equal(other.chosen?.properties.name, 'Mine')
  assert.equal(new Set(ids(other)).size, 4)
})

test('an override by another user is not a conflict', () => {
  const editor = new ZoneEditor(storage())
  editor.read(set('1', BOX, ROUND))
  editor.change({ ...BOX, properties: { ...BOX.properties, name: 'Mine' } })
  const by = { user_id: 'u', name: 'Jo' }
  const off = { enabled: false, enabled_before: true, switched: { until: null, by } }
  editor.read(set('2', BOX, { ...ROUND, properties: { ...ROUND.properties, ...off } }))
  assert.deepEqual([editor.theirs, editor.etag], [null, '2'])
  assert.deepEqual(
    editor.zones.map(({ properties }) => [properties.name, properties.enabled]),
    [
      ['Mine', true],
      ['round', false],
    ],
  )
})

test('a draft survives a reload, and is deleted once it is saved', () => {
  const store = storage()
  const before = new ZoneEditor(store)
  before.read(set('1', BOX))
  before.choose('box')
  before.remove()
  const after = new ZoneEditor(store)
  assert.deepEqual([ids(after), after.isChanged, after.etag], [[], true, '1'])
  after.saved(set('2'))
  assert.deepEqual(new ZoneEditor(store).current.value, null)
})

test('a shape that the gateway would reject is reported before saving', () => {
  assert.equal(shapeFault(BOX), null)
  const [a, b, c, d] = cornersOn(BOX)
  assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined)
  const faultOf = (...corners: Parameters<typeof ringOf>[0]) => shapeFault({ ...BOX, geometry: ringOf(corners) })
  assert.equal(faultOf(a, c, b, d), 'crossing')
  assert.equal(faultOf(a, b), 'few')
  assert.equal(faultOf(a, b, [a[0] + (b[0] - a[0]) / 2, a[1]]), 'flat')
  assert.equal(
    faultOf(
      ...Array.from({ length: 201 }, (_, i) => [a[0] + 10 * Math.cos(i / 32), a[1] + 10 * Math.sin(i / 32)] as const),
    ),
    'many',
  )
})

test('a tap selects the smallest zone below it, and the nearest corner within reach', () => {
  const [center] = [[-9_081_444, 3_300_400] as const]
  assert.equal(zoneAt([BOX, ROUND], center)?.id, 'box')
  const corners = cornersOn(BOX)
  assert.equal(nearest(corners, corners[2] ?? [0, 0], 1), 2)
  assert.equal(nearest(corners, [0, 0], 1), -1)
  assert.equal(zoneAt([BOX, ROUND], [0, 0]), null)
})
