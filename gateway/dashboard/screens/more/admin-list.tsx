import type { ComponentChildren } from 'preact'
import { moreTexts } from '#dashboard/texts/more.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import type { useAdminList } from './use-admin-list.ts'

interface AdminListProps<List> {
  of: ReturnType<typeof useAdminList<List>>
  children: (list: List) => ComponentChildren
}

/** Placeholder until a list has loaded or while the user may not see it; a loaded list stays, with all typed input. */
export function AdminList<List>({ of, children }: AdminListProps<List>) {
  const texts = moreTexts()
  const { list, fault, isTurnedDown, isRefused, again } = of
  return (
    <>
      {isRefused && (
        <div class="stack">
          {isTurnedDown && <p>{texts.forAdmins}</p>}
          <Fault text={fault} />
          <Button text={texts.tryAgain} onClick={() => void again()} />
        </div>
      )}
      {list === null && !isRefused && <p>{texts.loading} …</p>}
      {list !== null && children(list)}
    </>
  )
}
