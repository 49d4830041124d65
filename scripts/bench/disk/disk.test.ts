import { testShort } from '../run-short.ts'
import { disk } from './scenarios.ts'

testShort(disk)
