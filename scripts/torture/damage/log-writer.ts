import { writeSync } from 'node:fs'
import { NumberedWriter } from '#testing/damage/written-log.ts'

// Process that writes until it is killed: log-writer.ts DATABASE SEED. Each number on standard output is committed.

/** Small enough for the log to restart a few times in a life. */
const CHECKPOINT_PAGES = 400

const [path, seed] = process.argv.slice(2)
if (path === undefined || seed === undefined) throw new Error('log-writer.ts DATABASE SEED')
const writer = new NumberedWriter(path, Number(seed))
for (;;) {
  writeSync(1, `${writer.write()}\n`)
  writer.checkpointFrom(CHECKPOINT_PAGES)
}
