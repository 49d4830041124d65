import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isTopicFilter, matchesTopic } from './mqtt-topics.ts'

/** Implements the rules of 4.7 again, as a regular expression. */
function toPattern(filter: string): RegExp {
  const levels = filter.split('/').map((level) => {
    if (level === '+') return '[^/]*'
    if (level === '#') return '.*'
    return level.replaceAll(/[.*?^${}()|[\]\\]/g, '\\$&')
  })
  // "sport/#" also matches "sport"
  const body = levels.at(-1) === '.*' ? levels.slice(0, -1).join('/') : levels.join('/')
  const tail = levels.at(-1) !== '.*' ? '' : levels.length === 1 ? '.*' : '(/.*)?'
  return new RegExp(`^${body}${tail}$`, 's')
}

const level = fc.constantFrom('', 'a', 'b', '$SYS', '.')
const topic = fc.array(level, { minLength: 1, maxLength: 5 }).map((levels) => levels.join('/'))
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
  .filter((each) => each !== '')

test('a filter matches by the rules of MQTT 4.7, including empty levels and $', () => {
  fc.assert(
    fc.property(filter, topic, (eachFilter, eachTopic) => {
      const isHidden = eachTopic.startsWith('$') && /^[+#]/.test(eachFilter)
      assert.equal(matchesTopic(eachFilter, eachTopic), !isHidden && toPattern(eachFilter).test(eachTopic))
      assert.ok(isTopicFilter(eachFilter))
    }),
    { numRuns: 2000 },
  )
})

describe('the examples of MQTT 4.7', () => {
  const EXAMPLES: [filter: string, topic: string, isTakenIn: boolean][] = [
    ['sport/tennis/player1/#', 'sport/tennis/player1', true],
    ['sport/tennis/player1/#', 'sport/tennis/player1/score/wimbledon', true],
    ['sport/#', 'sport', true],
    ['sport/tennis/+', 'sport/tennis/player1/ranking', false],
    ['sport/+', 'sport', false],
    ['sport/+', 'sport/', true],
    ['+/+', '/finance', true],
    ['/+', '/finance', true],
    ['+', '/finance', false],
    ['#', '$SYS/x', false],
    ['+/monitor/Clients', '$SYS/monitor/Clients', false],
    ['$SYS/#', '$SYS/x', true],
    ['$SYS/monitor/+', '$SYS/monitor/Clients', true],
  ]
  for (const [eachFilter, eachTopic, isTakenIn] of EXAMPLES) {
    test(`${eachFilter} ${isTakenIn ? 'matches' : 'does not match'} ${eachTopic}`, () => {
      assert.equal(matchesTopic(eachFilter, eachTopic), isTakenIn)
    })
  }
})

test('a malformed filter is rejected', () => {
  for (const each of ['', '#/a', 'a#', 'a/#/b', 'a+', '+a', 'a/+b/c', '##', '++', 'a/b#'])
    assert.equal(isTopicFilter(each), false, each)
})
