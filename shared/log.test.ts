import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'

/** Returns the output of a program that logs two events; on a terminal if `isTerminal`. */
function printed(isTerminal: boolean): string {
  const program = `
    import { createProgramLog } from '${new URL('./log.ts', import.meta.url)}'
    const log = await createProgramLog('info', ${isTerminal})
    log.info({ hardwareId: 'cart-1', key: 'flt_secret' }, 'synced')
    log.warn({}, 'late')
    log.debug({}, 'not shown')`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program])
  assert.equal(stderr.toString(), '')
  return stdout.toString()
}

test('on a terminal every event is one line for people: time, level, message, fields', () => {
  assert.match(
    stripVTControlCharacters(printed(true)),
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: synced \{"hardwareId":"cart-1","key":"\[secret\]"\}\n\[[\d:.]+\] WARN: late\n$/,
  )
})

test('elsewhere every event is a line of JSON', () => {
  const [first = '', second = '', ...rest] = printed(false).split('\n')
  const { time, ...event } = JSON.parse(first)
  assert.deepEqual(event, { level: 'info', hardwareId: 'cart-1', key: '[secret]', msg: 'synced' })
  assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.equal(JSON.parse(second).msg, 'late')
  assert.deepEqual(rest, [''])
})
