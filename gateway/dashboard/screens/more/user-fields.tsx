import { useId } from 'preact/hooks'
import { hardwareIdsIn, type Scope, scopeOf } from '#dashboard/live/scope.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { peopleTexts } from '#dashboard/texts/people.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { InputOf } from '#shared/wire/operation-types.ts'
import type { UserJson, UserRole } from '#shared/wire/users.ts'

const ROLES: readonly UserRole[] = ['staff', 'user', 'admin', 'metrics']
const [NAME_MAX, SCOPE_MAX] = [200, 100_000]

/** Properties of a user, as typed. */
export interface UserDraft {
  name: string
  role: UserRole
  scope: Scope
  masksCodes: boolean
}

/** Defaults of a new user: sees all carts, as most staff do. */
export const NEW_USER: UserDraft = {
  name: '',
  role: 'staff',
  scope: { isAll: true, typed: '' },
  masksCodes: false,
}

export function draftOf(user: UserJson): UserDraft {
  const { name, role, mask_codes } = user
  return { name, role, scope: scopeOf(user), masksCodes: mask_codes }
}

/** Returns a converter to the API's body for a new user and for a change. */
export function useUserBody(): (draft: UserDraft) => InputOf<'POST /users'>['body'] {
  const { fleet } = useDashboard()
  return ({ name, role, scope, masksCodes }) => ({
    name: name.trim(),
    role,
    mask_codes: masksCodes,
    allowed_hardware_ids: hardwareIdsIn(scope, fleet.carts),
  })
}

interface UserFieldsProps {
  draft: UserDraft
  onDraft: (draft: UserDraft) => void
}

/** Fields for the name, the role, and the carts that a user sees. */
export function UserFields({ draft, onDraft }: UserFieldsProps) {
  const texts = peopleTexts()
  const { name, role: roleName } = tabletTexts()
  const { roles } = moreTexts()
  const group = useId()
  const { role, scope, masksCodes } = draft
  const roleOptions = new Map(ROLES.map((one) => [one, roles[one]]))
  const chooseRole = (chosen: UserRole) => {
    // players do not need the tags with which others unlock carts
    onDraft({ ...draft, role: chosen, masksCodes: chosen === 'user' && (role !== 'user' || masksCodes) })
  }
  return (
    <>
      <TextField
        name={name}
        max={NAME_MAX}
        value={draft.name}
        onInput={(value) => onDraft({ ...draft, name: value })}
      />
      <SelectField name={roleName} value={role} options={roleOptions} onChoose={chooseRole} />
      <p class="small">{`${roles[role]}: ${texts.roleWhy[role]}`}</p>
      {role !== 'admin' && role !== 'metrics' && (
        <fieldset>
          <legend>{texts.scope}</legend>
          {[true, false].map((isAll) => (
            <label key={String(isAll)} class="tick">
              <input
                type="radio"
                name={group}
                checked={scope.isAll === isAll}
                onChange={() => onDraft({ ...draft, scope: { ...scope, isAll } })}
              />
              {isAll ? texts.allCarts : texts.someCarts}
            </label>
          ))}
          {!scope.isAll && (
            <TextField
              name={texts.someCarts}
              hint={texts.cartsHint}
              max={SCOPE_MAX}
              isLong
              value={scope.typed}
              onInput={(typed) => onDraft({ ...draft, scope: { isAll: false, typed } })}
            />
          )}
        </fieldset>
      )}
      {role === 'user' && (
        <>
          <TickField
            name={texts.maskCodes}
            isOn={masksCodes}
            onChange={(isOn) => onDraft({ ...draft, masksCodes: isOn })}
          />
          <p class="small">{texts.maskCodesWhy}</p>
        </>
      )}
    </>
  )
}
