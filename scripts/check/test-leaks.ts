import { after } from 'node:test'

const GRACE_MS = 5_000

// A test file that leaves something open would keep `npm test` waiting for ever without a word.
after(() => {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    console.error(`${process.argv[1]}: its tests are done, but it leaves open: ${open}`)
    process.exit(1)
  }, GRACE_MS).unref()
})
