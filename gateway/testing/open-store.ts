import { createLog } from '#shared/log.ts'
import { Store } from '#store/store.ts'

/** Opens the store in the folder of its argument, in a process that can be killed; prints when it begins and ends. */
const [, , dataDir = ''] = process.argv
const store = new Store({ dataDir, readerThreads: 1, writeQueueRows: 1000 }, createLog('silent'))
process.stdout.write('opening\n')
await store.start()
process.stdout.write('open\n')
await store.stop()
