import { isMainThread } from 'node:worker_threads'

/** Time for closed handles to disappear on a busy machine. */
const GRACE_MS = 30_000

// A test file that leaves something open would keep `npm test` waiting forever without a message. Threads of the
// program read this too, and need no test runner: loading it takes an eighth of the time of such a thread.
if (isMainThread) {
  const { after } = await import('node:test')
  after(() => {
    // this hook runs first: the time starts once the hooks after it have released the event loop
    setTimeout(() => setTimeout(endWithWord, GRACE_MS).unref(), 0).unref()
  })
}

function endWithWord(): void {
  const open = process.getActiveResourcesInfo().join(', ')
  console.error(`${process.argv[1]}: its tests are done, but it leaves open: ${open}`)
  process.exit(1)
}
