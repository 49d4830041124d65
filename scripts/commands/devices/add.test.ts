import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { CommandFolder, type Outcome } from '#scripts/testing/command-folder.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'
import { devices } from './devices.ts'

const folder = new CommandFolder()
const PASSWORDS = folder.file('new-devices.csv')
let g: TestGateway

before(async () => {
  g = await startGateway()
})
after(async () => {
  await g.stop()
  folder.remove()
})

/** Runs the command over this list. */
function add(list: string, ...options: string[]): Promise<Outcome> {
  writeFileSync(folder.file('list.csv'), list)
  return folder.run(devices, ['add', 'list.csv', '--url', g.http, ...options])
}

async function registered(): Promise<string[]> {
  const { body } = await g.request('GET', '/devices')
  return body.devices.map(({ hardware_id }: { hardware_id: string }) => hardware_id).sort()
}

test('a list is shown, then registered; its passwords work and are readable for their owner only', async () => {
  const list = 'hardware_id,device_type,name\ncart-1,teebox,"One, the first"\ncart-2,teebox,\n'
  const shown = await add(list)
  assert.deepEqual(
    [shown.code, shown.err, shown.out],
    [0, '', 'Would be 2 registered, 0 changed, 0 as they were. Nothing was changed: --yes does it.\n'],
  )
  assert.deepEqual([await registered(), existsSync(PASSWORDS)], [[], false])

  const done = await add(list, '--yes')
  assert.deepEqual([done.code, done.err], [0, ''])
  assert.match(done.out, /^2 registered, 0 changed, 0 as they were\.\n.*new-devices\.csv has the MQTT/)
  assert.deepEqual(await registered(), ['cart-1', 'cart-2'])
  assert.equal(statSync(PASSWORDS).mode & 0o777, 0o600)
  const [head, ...lines] = readFileSync(PASSWORDS, 'utf8').trimEnd().split('\n')
  assert.equal(head, 'hardware_id,username,password')
  for (const line of lines) {
    const [id = '', username = '', password = ''] = line.split(',')
    assert.equal(id, username)
    assert.doesNotMatch(done.out, new RegExp(password))
    const client = await g.connect(username, password)
    await client.endAsync()
  }
})

test('a repeated list registers no device and writes no password file', async () => {
  rmSync(PASSWORDS, { force: true })
  const again = await add('hardware_id,device_type,name\ncart-1,teebox,"One, the first"\ncart-2,teebox,\n', '--yes')
  assert.deepEqual([again.code, again.out], [0, '0 registered, 0 changed, 2 as they were.\n'])
  assert.equal(existsSync(PASSWORDS), false)
})

test('a password file is never overwritten, and then no device is registered', async () => {
  writeFileSync(PASSWORDS, 'of others')
  const refused = await add('hardware_id,device_type\ncart-9,teebox\n', '--yes')
  assert.equal(refused.code, 1)
  assert.match(
    refused.err,
    /^devices add: .*new-devices\.csv exists, and may have passwords: name another one with --credentials\n$/,
  )
  assert.equal(readFileSync(PASSWORDS, 'utf8'), 'of others')
  assert.ok(!(await registered()).includes('cart-9'))
})

test('a list with errors is rejected as a whole, and its lines are named', async () => {
  const refused = await add('hardware_id,device_type\ncart 9,teebox\ncart-10,teebox\ncart-11,none\n', '--yes')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /2 of its lines are wrong, and nothing was changed:\n {2}line 2: .*\n {2}line 4: /)
  assert.ok(!(await registered()).includes('cart-10'))
})

test('an unreadable list, a wrong key and an unreachable gateway are reported in one line', async () => {
  const missing = await folder.run(devices, ['add', 'none.csv', '--url', g.http])
  assert.deepEqual([missing.code, missing.err], [1, `devices add: ${folder.file('none.csv')} cannot be read: ENOENT\n`])
  writeFileSync(folder.file('list.csv'), 'hardware_id,device_type\ncart-12,teebox\n')
  const argv = ['add', 'list.csv', '--url']
  const stranger = await folder.run(devices, [...argv, g.http], { key: 'flt_wrong' })
  assert.match(stranger.err, /^devices add: the gateway answers 401: .*\n$/)
  const away = await folder.run(devices, [...argv, 'http://127.0.0.1:9'])
  assert.match(away.err, /^devices add: no answer from http:\/\/127\.0\.0\.1:9: try again.*\n$/)
  assert.deepEqual([stranger.code, away.code], [1, 1])
})
