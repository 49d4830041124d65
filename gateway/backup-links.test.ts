import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { backUp } from '#gateway/offline/backups.ts'
import { restoreBackup } from '#gateway/offline/restore.ts'
import { FilePlace } from '#store/backups/file-place.ts'
import { FolderPlace } from '#store/backups/folder-place.ts'
import { copyOf, dataFolder, newFolder, newSet, restoreSet, T0 } from '#testing/backup-sets.ts'

test('nothing but plain files of a set is read, written or deleted', async (t) => {
  const data = dataFolder(t)
  const place: Record<string, (path: string, elsewhere: string) => void> = {
    link: (path, elsewhere) => symlinkSync(elsewhere, path),
    'dangling link': (path) => symlinkSync('/nonexistent/place', path),
    pipe: (path) => execFileSync('mkfifo', [path]),
    device: (path) => execFileSync('mknod', [path, 'c', '1', '5']),
    'wrong kind': (path, elsewhere) => (statSync(elsewhere).isDirectory() ? writeFileSync(path, '') : mkdirSync(path)),
    'second name': (path, elsewhere) =>
      statSync(elsewhere).isDirectory() ? symlinkSync(elsewhere, path) : linkSync(elsewhere, path),
  }
  const newest = (set: string) => join('snapshots', readdirSync(join(set, 'snapshots'))[0] ?? '')
  const firstOf = (set: string, length: number) =>
    join(
      'blobs',
      readdirSync(join(set, 'blobs'), { recursive: true, encoding: 'utf8' }).find((name) => name.length === length) ??
        '',
    )
  const names: ((set: string) => string)[] = [
    () => 'unfinished',
    () => 'snapshots',
    () => 'blobs',
    () => 'cartbarn-backup.json',
    newest,
    (set) => firstOf(set, 2),
    (set) => firstOf(set, 67),
    () => 'unfinished/x',
    () => 'blobs/x',
  ]
  const whole = await newSet(t)
  for (const [kind, make] of Object.entries(place)) {
    if (kind === 'device' && process.getuid?.() !== 0) continue
    for (const nameIn of names) {
      const set = copyOf(t, whole)
      const path = join(set, nameIn(set))
      // the content now lies elsewhere, next to a file that must stay
      const elsewhere = join(newFolder(t), 'elsewhere')
      if (existsSync(path)) renameSync(path, elsewhere)
      else writeFileSync(elsewhere, 'kept')
      if (statSync(elsewhere).isDirectory()) writeFileSync(join(elsewhere, 'kept'), 'kept')
      const before = contentOf(elsewhere)
      mkdirSync(dirname(path), { recursive: true })
      make(path, elsewhere)
      const words = `${kind} ${nameIn(set)}`
      for (const attempt of [
        () => restoreSet(t, set),
        () => backUp({ dataDir: data, to: new FolderPlace(set), atMs: T0 }),
      ]) {
        const error = await attempt().then(
          () => null,
          (fault: Error) => fault,
        )
        // a chunk with a second name is read as usual, and files that no backup reads may be anything
        if (error !== null)
          assert.match(
            error.message,
            /which no backup has|is missing|another gateway|no(?:t a)? backup of cartbarn|no backup that was finished/,
            words,
          )
      }
      assert.deepEqual(contentOf(elsewhere), before, words)
    }
  }
})

function contentOf(path: string): string[] {
  return statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => statSync(join(path, name)).isFile())
        .map((name) => `${name}: ${readFileSync(join(path, name)).toString('hex')}`)
        .sort()
    : [readFileSync(path).toString('hex')]
}

test('a file on a stick that is a pipe or no backup is refused, and a folder next to it stays', async (t) => {
  const folder = newFolder(t)
  const pipe = join(folder, 'pipe.backup')
  execFileSync('mkfifo', [pipe])
  await assert.rejects(restoreBackup({ dataDir: newFolder(t), from: FilePlace.toRead(pipe), atMs: T0 }), {
    message: /is not a plain file/,
  })
  mkdirSync(join(folder, 'one.backup.unfinished-x'))
  await backUp({ dataDir: dataFolder(t), to: join(folder, 'one.backup'), atMs: T0 })
  assert.deepEqual(readdirSync(folder).sort(), ['one.backup', 'one.backup.unfinished-x', 'pipe.backup'])
})
