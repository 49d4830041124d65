// Loaded before a program, by --import: kills it at its KILL_ATth change of a name on the disk.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const STEPS = ['renameSync', 'linkSync'] as const
/** Includes each file that is deleted: many more. */
const ALL = [...STEPS, 'rmSync'] as const

let left = Number(process.env.KILL_AT)
for (const name of process.env.CARTBARN_TEST_LONG === undefined ? STEPS : ALL) {
  const real: (...given: never[]) => unknown = fs[name]
  const killing = (...given: never[]) => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL')
    return real(...given)
  }
  Object.assign(fs, { [name]: killing })
}
syncBuiltinESMExports()
