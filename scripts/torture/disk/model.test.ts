import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '#shared/random.ts'
import type { DiskRecord } from './log.ts'
import { DiskModel, type Folder, type Syncs } from './model.ts'

const OLD = 'o'.repeat(1024)
const never = (): number => 0.999
const at = (fd: number, offset: number, text: string): DiskRecord => {
  return { kind: 'write', fd, offset, bytes: Buffer.from(text) }
}
const open = (fd: number, name: string, creates = false): DiskRecord => {
  return { kind: 'open', fd, name, creates, truncates: false }
}
const sync = (fd: number, number: number): DiskRecord[] => [
  { kind: 'syncStarted', fd, sync: number },
  { kind: 'synced', fd, sync: number },
]

test('synced data survives, data written after the sync does not', () => {
  const model = replay([open(3, 'db'), at(3, 0, 'new'), ...sync(3, 0), at(3, 0, 'lost')])
  assert.equal(contentOf(model.afterCut('none', never), 'db'), `new${OLD.slice(3)}`)
  assert.equal(contentOf(model.afterCut('all', never), 'db'), `lost${OLD.slice(4)}`)
})

test('data written during a sync is not made durable by it', () => {
  const model = replay([
    open(3, 'db'),
    at(3, 0, 'safe'),
    { kind: 'syncStarted', fd: 3, sync: 0 },
    at(3, 4, 'late'),
    { kind: 'synced', fd: 3, sync: 0 },
  ])
  assert.equal(contentOf(model.afterCut('none', never), 'db'), `safe${OLD.slice(4)}`)
})

test('a sync that did not end makes no data durable', () => {
  const model = replay([open(3, 'db'), at(3, 0, 'new'), { kind: 'syncStarted', fd: 3, sync: 0 }])
  assert.equal(contentOf(model.afterCut('none', never), 'db'), OLD)
})

test('two overlapping syncs that end in reverse order make all data before the later one durable', () => {
  const model = replay([
    open(3, 'db'),
    at(3, 0, 'a'),
    { kind: 'syncStarted', fd: 3, sync: 0 },
    at(3, 1, 'b'),
    { kind: 'syncStarted', fd: 3, sync: 1 },
    at(3, 2, 'c'),
    { kind: 'synced', fd: 3, sync: 1 },
    { kind: 'synced', fd: 3, sync: 0 },
  ])
  assert.equal(contentOf(model.afterCut('none', never), 'db').slice(0, 3), 'abo')
})

test('a new file is durable once the folder is synced; its own sync is not enough', () => {
  const records = [open(3, 'wal', true), at(3, 0, 'frame'), ...sync(3, 0)]
  assert.equal(replay(records).afterCut('none', never).has('wal'), false)
  const model = replay([...records, open(4, ''), ...sync(4, 1)])
  assert.equal(contentOf(model.afterCut('none', never), 'wal'), 'frame')
})

test('a removed file comes back unless the folder is synced', () => {
  const model = replay([{ kind: 'unlink', name: 'db' }])
  assert.equal(contentOf(model.afterCut('none', never), 'db'), OLD)
  assert.equal(model.afterCut('all', never).has('db'), false)
  const synced = replay([{ kind: 'unlink', name: 'db' }, open(4, ''), ...sync(4, 0)])
  assert.equal(synced.afterCut('none', never).has('db'), false)
})

test('a renamed file has either name, and the replaced file comes back unless the folder is synced', () => {
  const renamed: DiskRecord[] = [
    open(3, 'db-next', true),
    at(3, 0, 'new'),
    ...sync(3, 0),
    open(4, ''),
    ...sync(4, 1),
    { kind: 'rename' as const, name: 'db-next', to: 'db' },
  ]
  const before = replay(renamed).afterCut('none', never)
  assert.deepEqual([contentOf(before, 'db'), contentOf(before, 'db-next')], [OLD, 'new'])
  for (const after of [
    replay(renamed).afterCut('all', never),
    replay([...renamed, ...sync(4, 2)]).afterCut('none', never),
  ])
    assert.deepEqual([contentOf(after, 'db'), after.has('db-next')], ['new', false])
})

test('a new file of the same name is separate from the deleted one', () => {
  const model = replay([
    open(3, 'db'),
    { kind: 'unlink', name: 'db' },
    open(4, 'db', true),
    at(3, 0, 'gone'),
    at(4, 0, 'here'),
  ])
  assert.equal(contentOf(model.afterCut('all', never), 'db'), 'here')
})

test('each sector holds one of the contents it had, independently of the next sector', () => {
  const [b, c] = ['b'.repeat(1024), 'c'.repeat(1024)]
  const model = replay([open(3, 'db'), at(3, 0, b), at(3, 0, c)])
  const seen = new Set<string>()
  const random = createRandom(7).next
  for (let i = 0; i < 500; i++) {
    const content = contentOf(model.afterCut('some sectors', random), 'db')
    assert.match(content, /^([obc])\1{511}([obc])\2{511}$/)
    seen.add(`${content[0]}${content[512]}`)
  }
  assert.deepEqual([...seen].sort(), ['bb', 'bc', 'bo', 'cb', 'cc', 'co', 'ob', 'oc', 'oo'])
})

test('a file that is not truncated yet has none of the data written after the truncation', () => {
  const model = replay([open(3, 'db'), { kind: 'truncate', fd: 3, size: 0 }, at(3, 0, 'n'.repeat(600))])
  const seen = new Set<string>()
  const random = createRandom(11).next
  for (let i = 0; i < 200; i++) {
    const content = contentOf(model.afterCut('some sectors', random), 'db')
    assert.match(content, /^(o{1024}|[n\0]{0,600})$/)
    seen.add(content)
  }
  assert.ok(seen.has(OLD) && seen.has('') && seen.has('n'.repeat(600)))
})

test('a disk that ignores syncs keeps no data', () => {
  const records = [open(3, 'db'), at(3, 0, 'new'), ...sync(3, 0)]
  assert.equal(contentOf(replay(records, 'ignored').afterCut('none', never), 'db'), OLD)
})

function replay(records: readonly DiskRecord[], syncs?: Syncs): DiskModel {
  const model = new DiskModel(new Map([['db', Buffer.from(OLD)]]), syncs)
  for (const record of records) model.apply(record)
  return model
}

function contentOf(folder: Folder, name: string): string {
  return folder.get(name)?.toString('latin1') ?? 'not there'
}
