/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked list. A `struct list` is both the head and the link; the comment beside a link names the list
 * it is in:  struct list link;  (in: channel::readers).
 *
 * Thread: none of its own; the owner of the head owns the links.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* Inserts `item` after `pos`. */
static inline void list_insert(struct list *pos, struct list *item)
{
	item->prev = pos;
	item->next = pos->next;
	pos->next->prev = item;
	pos->next = item;
}

static inline void list_prepend(struct list *head, struct list *item)
{
	list_insert(head, item);
}

static inline void list_append(struct list *head, struct list *item)
{
	list_insert(head->prev, item);
}

/* Unlinks; the link is left initialised, so that removing it twice (or a link that list_init made) has no effect. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* Moves all items of `from` to the end of `to`; `from` is empty afterwards. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

static inline size_t list_count(const struct list *head)
{
	size_t n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)

/* First or last object, NULL when the list is empty. */
#define list_first(head, type, member) (list_empty(head) ? NULL : container_of((head)->next, type, member))
#define list_last(head, type, member)  (list_empty(head) ? NULL : container_of((head)->prev, type, member))

/* pos: a pointer to the object; the loop body must not remove it (use the safe form for that). */
#define list_for_each(pos, head, member) \
	for ((pos) = container_of((head)->next, __typeof__(*(pos)), member); &(pos)->member != (head); \
	     (pos) = container_of((pos)->member.next, __typeof__(*(pos)), member))

/* tmp: a second pointer of the same type; the loop body may remove and free pos. */
#define list_for_each_safe(pos, tmp, head, member) \
	for ((pos) = container_of((head)->next, __typeof__(*(pos)), member), \
	    (tmp) = container_of((pos)->member.next, __typeof__(*(pos)), member); \
	     &(pos)->member != (head); \
	     (pos) = (tmp), (tmp) = container_of((pos)->member.next, __typeof__(*(pos)), member))

#endif
