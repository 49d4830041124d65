import { useEffect, useState } from 'preact/hooks'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

interface GroupsFieldProps {
  groups: readonly number[] | undefined
  onGroups: (groups: number[] | undefined) => void
}

/** Field for the groups of a zone; hidden on a course with fewer than two groups. */
export function GroupsField({ groups = [], onGroups }: GroupsFieldProps) {
  const { api } = useDashboard()
  const texts = zonesTexts()
  const [known, setKnown] = useState<AnswerOf<'GET /groups'>>([])
  useEffect(() => {
    // if they cannot be loaded, the groups of a zone stay unchanged
    api.call('GET /groups').then(setKnown, () => undefined)
  }, [api])
  if (known.length < 2) return null
  const toggle = (groupId: number, isIn: boolean) => {
    const next = isIn ? [...groups, groupId] : groups.filter((one) => one !== groupId)
    onGroups(next.length === 0 ? undefined : next.sort((a, b) => a - b))
  }
  return (
    <fieldset class="ticks">
      <legend>{texts.groups}</legend>
      {known.map(({ group_id, name }) => (
        <TickField
          key={group_id}
          name={name}
          isOn={groups.includes(group_id)}
          onChange={(isOn) => toggle(group_id, isOn)}
        />
      ))}
    </fieldset>
  )
}
