import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { createAuthority } from '#shared/authority/authority.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import { dataFolder, newFolder, newSet, restoreSet, T0 } from '#testing/backup-sets.ts'

test('a passphrase must match the set, both for writing and for a restore', async (t) => {
  const data = dataFolder(t)
  const plain = await newSet(t)
  const before = readdirSync(plain, { recursive: true }).sort()
  const write = (set: string, passphrase?: string) =>
    backUp({ dataDir: data, to: new FolderPlace(set), passphrase, atMs: T0 })
  await assert.rejects(write(plain, 'p'), {
    message: /unencrypted backups, but a passphrase was given: nothing was written/,
  })
  await assert.rejects(restoreSet(t, plain, 'p'), { message: /not encrypted, though a passphrase was given/ })
  assert.deepEqual(readdirSync(plain, { recursive: true }).sort(), before)
  const file = join(newFolder(t), 'one.backup')
  await backUp({ dataDir: data, to: file, atMs: T0 })
  await assert.rejects(
    restoreBackup({ dataDir: newFolder(t), from: FilePlace.toRead(file), passphrase: 'p', atMs: T0 }),
    { message: /not encrypted, though a passphrase was given/ },
  )
  const sealed = await newSet(t, 'p')
  await assert.rejects(write(sealed), { message: /is encrypted/ })
  await assert.rejects(restoreSet(t, sealed), { message: /is encrypted/ })
  const header = join(sealed, 'cartbarn-backup.json')
  const ours = JSON.parse(readFileSync(header, 'utf8'))
  for (const cheaper of [
    { cost: 2 },
    { cost: 1 << 14 },
    { cost: 1 << 18 },
    { cost: 33_000 },
    { blockSize: 1 },
    { blockSize: 64 },
    { salt: '' },
  ]) {
    writeFileSync(header, JSON.stringify({ ...ours, encryption: { ...ours.encryption, ...cheaper } }))
    for (const attempt of [write(sealed, 'p'), restoreSet(t, sealed, 'p')])
      await assert.rejects(attempt, { message: /its header was altered/ }, JSON.stringify(cheaper))
  }
  rmSync(header)
  await assert.rejects(write(sealed, 'p'), { message: /cartbarn-backup.json is missing/ })
})

test('a gateway refuses a set header that it did not write, and remembers its own sets', async (t) => {
  const dataDir = dataFolder(t)
  const set = join(newFolder(t), 'set')
  const known: string[] = []
  const memory = { known, remember: (header: string) => void (known.includes(header) || known.push(header)) }
  const run = (passphrase = 'p') => backUp({ dataDir, to: new FolderPlace(set), passphrase, atMs: T0, memory })
  await run()
  await run()
  assert.equal(known.length, 1)
  const header = join(set, 'cartbarn-backup.json')
  const own = readFileSync(header)
  const parts = ['snapshots', 'blobs'].map((name) => join(set, name))
  // with the same passphrase, another one, and none: alone and in an empty set
  for (const passphrase of ['p', 'q', undefined]) {
    const other = await newSet(t, passphrase)
    writeFileSync(header, readFileSync(join(other, 'cartbarn-backup.json')))
    const refusal = passphrase === undefined ? /has unencrypted backups/ : /is not the one that this gateway wrote/
    await assert.rejects(run(), { message: refusal })
    for (const path of parts) renameSync(path, `${path}-kept`)
    await assert.rejects(run(), { message: refusal })
    for (const path of parts) renameSync(`${path}-kept`, path)
  }
  writeFileSync(header, own)
  assert.equal((await run()).number, 3)
  // another stick at the same mount point, and the first one again
  renameSync(set, `${set}-first`)
  assert.equal((await run()).number, 1)
  renameSync(set, `${set}-second`)
  renameSync(`${set}-first`, set)
  assert.equal((await run()).number, 4)
  assert.equal(known.length, 2)
  known.length = 1
  rmSync(set, { recursive: true })
  renameSync(`${set}-second`, set)
  assert.equal((await run()).number, 2, 'its backups show whose it is')
})

test('only encrypted backups contain the TLS authority, and a restore keeps a usable existing one', async (t) => {
  const data = dataFolder(t)
  const authority = createAuthority(['clubhouse.local'], T0)
  new AuthorityFolder(data).writeAuthority(authority)
  const [sealed, plain] = [join(newFolder(t), 'sealed'), join(newFolder(t), 'plain')]
  const write = (set: string, passphrase?: string) =>
    backUp({ dataDir: data, to: new FolderPlace(set), passphrase, atMs: T0 })
  assert.equal((await write(sealed, 'p')).lacks.join().includes('authority'), false)
  assert.match((await write(plain)).lacks.join(), /tls\/authority\.pem, which only encrypted backups contain/)
  const moved = await restoreSet(t, sealed, 'p')
  const path = new AuthorityFolder(moved.dataDir).authorityPath
  assert.deepEqual([moved.authority, readFileSync(path, 'utf8')], ['restored', authority])
  assert.deepEqual([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777], [0o600, 0o700])
  const without = await restoreSet(t, plain)
  assert.deepEqual([without.authority, existsSync(join(without.dataDir, 'tls'))], ['missing', false])

  const again = (dataDir: string) =>
    restoreBackup({ dataDir, from: new FolderPlace(sealed), passphrase: 'p', isForced: true, atMs: T0 + 1 })
  // tablets may trust a newer one; an unusable one is replaced
  const newer = createAuthority(['clubhouse.local'], T0 + 1)
  new AuthorityFolder(data).writeAuthority(newer)
  assert.equal((await again(data)).authority, 'kept')
  assert.equal(new AuthorityFolder(data).readAuthority(), newer)
  new AuthorityFolder(moved.dataDir).writeAuthority(authority.slice(0, 200))
  assert.equal((await again(moved.dataDir)).authority, 'restored')
  assert.equal(readFileSync(path, 'utf8'), authority)
  // an unusable authority must not prevent a backup
  new AuthorityFolder(data).writeAuthority('rust')
  assert.match((await write(sealed, 'p')).lacks.join(), /authority/)
  assert.equal((await restoreSet(t, sealed, 'p')).authority, 'missing')
})

test('a link in place of the authority folder does not lead a restore elsewhere', async (t) => {
  const data = dataFolder(t)
  new AuthorityFolder(data).writeAuthority(createAuthority(['clubhouse.local'], T0))
  const set = join(newFolder(t), 'set')
  await backUp({ dataDir: data, to: new FolderPlace(set), passphrase: 'p', atMs: T0 })
  const [dataDir, elsewhere] = [newFolder(t), newFolder(t)]
  symlinkSync(elsewhere, join(dataDir, 'tls'))
  await assert.rejects(restoreBackup({ dataDir, from: new FolderPlace(set), passphrase: 'p', atMs: T0 }), {
    message: /its folder is a link/,
  })
  assert.deepEqual(readdirSync(elsewhere), [])
  rmSync(join(dataDir, 'tls'))
  mkdirSync(join(dataDir, 'tls'))
  writeFileSync(join(elsewhere, 'kept'), 'kept')
  symlinkSync(join(elsewhere, 'kept'), join(dataDir, 'tls', 'authority.pem.new'))
  await restoreBackup({ dataDir, from: new FolderPlace(set), passphrase: 'p', atMs: T0 })
  assert.equal(readFileSync(join(elsewhere, 'kept'), 'utf8'), 'kept')
})
