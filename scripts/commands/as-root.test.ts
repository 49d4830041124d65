import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RunCommand } from '#scripts/cli/command.ts'
import { CommandFolder } from '#scripts/testing/command-folder.ts'
import { BlockTable } from '#testing/block-table.ts'
import { backup } from './backup.ts'
import { repair } from './repair.ts'
import { restore } from './restore.ts'

/** The user of a service. */
const OWNER = 54_321
const skip = process.getuid?.() === 0 ? false : 'only root can act on the folder of another user'

/** Creates a stopped gateway of another user. */
function newService(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-as-root-'))
  const commands = new CommandFolder()
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
    commands.remove()
  })
  const [data, backups] = [join(folder, 'data'), join(folder, 'backups')]
  for (const path of [data, backups]) mkdirSync(path, { mode: 0o700 })
  const table = new BlockTable(join(data, 'cartbarn.db'))
  table.newDevice()
  table.close()
  for (const path of [data, backups, ...readdirSync(data).map((name) => join(data, name))])
    chownSync(path, OWNER, OWNER)
  const run = async (command: RunCommand, ...argv: string[]) => {
    const { code, out, err } = await commands.run(command, [...argv, '--data', data])
    assert.equal(code, 0, err)
    return out
  }
  return { data, backups, run, file: commands.file('one.backup') }
}

/** Returns the paths that its user could not open. */
function notTheirs(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => lstatSync(join(folder, name)).uid !== OWNER,
  )
}

test('backup leaves the data and a set of backups to those whose they are', { skip }, async (t) => {
  const { data, backups, run } = newService(t)
  for (let night = 1; night <= 2; night++) await run(backup, backups)
  assert.deepEqual([notTheirs(data), notTheirs(backups)], [[], []])
})

test('restore leaves the data to the user of the service, the replaced database too', { skip }, async (t) => {
  const { data, run, file } = newService(t)
  await run(backup, file)
  await run(restore, file, '--force')
  assert.deepEqual(notTheirs(data), [])
  assert.ok(readdirSync(data).some((name) => name.startsWith('replaced-')))
})

test('repair leaves the data to the user of the service, also a database that is not in its place', {
  skip,
}, async (t) => {
  const { data, run } = newService(t)
  await run(repair)
  assert.deepEqual(notTheirs(data), [])
  assert.ok(readdirSync(data).includes('cartbarn-repaired.db'))
  await run(repair, '--yes')
  assert.deepEqual(notTheirs(data), [])
  assert.ok(readdirSync(data).some((name) => name.startsWith('damaged-')))
})

test('the line that repair prints for a person leaves all to the user of the service too', {
  skip,
}, async (t) => {
  const { data, run } = newService(t)
  const [, move = ''] = /^ {2}(cd .*)$/m.exec(await run(repair)) ?? []
  const { status, stderr } = spawnSync('sh', ['-c', `umask 022; ${move}`], { encoding: 'utf8' })
  assert.deepEqual([status, stderr, notTheirs(data)], [0, '', []])
  assert.equal(lstatSync(join(data, 'damaged')).mode & 0o777, 0o700)
})
