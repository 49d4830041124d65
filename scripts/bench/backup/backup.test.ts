import { testShort } from '../run-short.ts'

testShort('backup')
