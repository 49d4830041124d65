import { isMainThread } from 'node:worker_threads'

/** On a busy machine what was closed may take a while to be gone. */
const GRACE_MS = 30_000

// A test file that leaves something open would keep `npm test` waiting for ever without a word. Threads of the program
// read this too, and need no test runner: to load it takes an eighth of the time of such a thread.
if (isMainThread) {
  const { after } = await import('node:test')
  after(() => {
    // this hook is the first: the time runs from when those after it have given the event loop free
    setTimeout(() => setTimeout(endWithWord, GRACE_MS).unref(), 0).unref()
  })
}

function endWithWord(): void {
  const open = process.getActiveResourcesInfo().join(', ')
  console.error(`${process.argv[1]}: its tests are done, but it leaves open: ${open}`)
  process.exit(1)
}
