import { testShort } from '../run-short.ts'
import { backup } from './scenarios.ts'

testShort(backup)
