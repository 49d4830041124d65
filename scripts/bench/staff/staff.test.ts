import { testShort } from '../run-short.ts'

testShort('staff', { long: ['ingest', 'list', 'tablets'] })
