import { testShort } from '../run-short.ts'
import { api } from './scenarios.ts'

testShort(api, ['counts'])
