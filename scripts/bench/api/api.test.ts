import { testShort } from '../run-short.ts'

testShort('api', { long: ['counts'] })
